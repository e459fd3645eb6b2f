"""States of sampled threads: Python, native code, or waiting, with the reason."""

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
    whole = python + native + sum(modes.get(mode, 0) for mode in _WAITS)
    if not whole:
        return None
    return States(
        python / whole,
        native / whole,
        *(modes.get(mode, 0) / whole for mode in _WAITS),
    )


def sum_samples(windows: Iterable[Window]) -> SampleSums:
    """The samples of all windows, of every thread."""
    total: SampleSums = {}
    for window in windows:
        for key, (count, ns) in window.samples.items():
            known = total.get(key, (0, 0))
            total[key] = (known[0] + count, known[1] + ns)
    return _with_known_modes(total)


def _with_known_modes(sums: SampleSums) -> SampleSums:
    """Samples that ran in an unknown mode, split like those of the same stack, phase or process.

    Done once for all, so that functions and phases agree.
    """
    unknown = [key for key in sums if key[2] == MODE_UNKNOWN]
    if not unknown:
        return sums
    ran: dict[tuple[str, int] | str | None, list[int]] = {}
    for (path, stack, mode), (_, ns) in sums.items():
        if mode in (MODE_PYTHON, MODE_NATIVE):
            for scope in ((path, stack), path, None):
                ran.setdefault(scope, [0, 0])[mode == MODE_NATIVE] += ns
    settled = dict(sums)
    for path, stack, mode in unknown:
        python, native = ran.get((path, stack)) or ran.get(path) or ran.get(None) or (0, 0)
        if not python + native:
            continue
        count, ns = settled.pop((path, stack, mode))
        part = native / (python + native)
        in_native = (round(count * part), round(ns * part))
        in_python = (count - in_native[0], ns - in_native[1])
        for known, more in ((MODE_PYTHON, in_python), (MODE_NATIVE, in_native)):
            before = settled.get((path, stack, known), (0, 0))
            settled[path, stack, known] = (before[0] + more[0], before[1] + more[1])
    return settled


def states_by_path(windows: Iterable[Window]) -> dict[str, States]:
    """Path of a phase -> the states of its own samples; the empty path is time in no phase."""
    modes: dict[str, dict[int, int]] = {}
    for (path, _, mode), (_, ns) in sum_samples(windows).items():
        table = modes.setdefault(path, {})
        table[mode] = table.get(mode, 0) + ns
    found = {path: states_of(table) for path, table in modes.items()}
    return {path: states for path, states in found.items() if states is not None}
