"""States of sampled threads: in Python, in native code, or waiting, and for what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hotloop.capture.sample_modes import (
    MODE_NATIVE,
    MODE_PYTHON,
    MODE_SLEEPING,
    MODE_UNKNOWN,
    MODE_WAITING,
    MODE_WAITING_CORE,
    MODE_WAITING_IO,
    MODE_WAITING_LOCK,
)
from hotloop.capture.window import Window

#: Not ready to run.
BLOCKED = frozenset((MODE_WAITING, MODE_WAITING_LOCK, MODE_WAITING_IO, MODE_SLEEPING))
#: The waits of `States`, in the order of its fields.
_WAITS = (MODE_WAITING_LOCK, MODE_WAITING_CORE, MODE_WAITING_IO, MODE_SLEEPING, MODE_WAITING)

#: (path, stack, mode) -> (how often seen, nanoseconds)
SampleSums = dict[tuple[str, int, int], tuple[int, int]]


@dataclass(frozen=True)
class States:
    """Shares of sampled time; together they are one."""

    python: float = 0.0
    native: float = 0.0
    #: For a lock, the GIL or another thread.
    lock: float = 0.0
    #: Ready to run, but without a CPU core.
    core: float = 0.0
    #: For I/O or another process.
    io: float = 0.0
    sleeping: float = 0.0
    #: For a reason that is not known.
    other: float = 0.0

    @property
    def waiting(self) -> float:
        """Share of the time in which the thread did not run."""
        return self.lock + self.core + self.io + self.sleeping + self.other


def states_of(modes: Mapping[int, int]) -> States | None:
    """The states of samples by mode; None if no state is known."""
    python, native = modes.get(MODE_PYTHON, 0), modes.get(MODE_NATIVE, 0)
    unknown = modes.get(MODE_UNKNOWN, 0) if python + native else 0
    whole = python + native + unknown + sum(modes.get(mode, 0) for mode in _WAITS)
    if not whole:
        return None
    # Running in an unknown mode: split like the samples whose mode is known.
    more = 1 + unknown / (python + native) if python + native else 1.0
    return States(
        python * more / whole,
        native * more / whole,
        *(modes.get(mode, 0) / whole for mode in _WAITS),
    )


def sum_samples(windows: Iterable[Window]) -> SampleSums:
    """The samples of all windows, of every thread."""
    total: SampleSums = {}
    for window in windows:
        for key, (count, ns) in window.samples.items():
            known = total.get(key, (0, 0))
            total[key] = (known[0] + count, known[1] + ns)
    return total


def states_by_path(windows: Iterable[Window]) -> dict[str, States]:
    """Path of a phase -> the states of its own samples; the empty path is time in no phase."""
    modes: dict[str, dict[int, int]] = {}
    for (path, _, mode), (_, ns) in sum_samples(windows).items():
        table = modes.setdefault(path, {})
        table[mode] = table.get(mode, 0) + ns
    found = {path: states_of(table) for path, table in modes.items()}
    return {path: states for path, states in found.items() if states is not None}
