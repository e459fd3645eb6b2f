"""What other threads of the training process did while it waited, from their samples.

A thread that parses batches into a queue, or plays in the background, is rarely in a phase. Its
samples show when it ran, on which line, and in which phase if any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from hotloop.analyze.samples.states import BLOCKED
from hotloop.capture.window import Window
from hotloop.phases import NO_PHASE_LABEL, name_at

#: The common name of all other threads of a process in the run table.
THREAD = "thread"

#: Phases in which a blocked thread does nothing.
_IDLE = frozenset({NO_PHASE_LABEL, "wait", "data.wait"})

#: (THREAD, phase) -> seconds
Work = dict[tuple[str, str], float]


def work_of_threads(window: Window) -> Work:
    """How long other threads worked in a window, by phase.

    In no phase they work while they run, or wait for a core; a step that sleeps is a step.
    """
    work: Work = defaultdict(float)
    for (path, _, mode), (_, ns) in window.samples.items():
        if not path.startswith("@thread-"):
            continue
        name = name_at(path) if "/" in path else NO_PHASE_LABEL
        if mode not in BLOCKED or name not in _IDLE:
            work[THREAD, name] += ns / 1e9
    return work


def within(work: Mapping[tuple[str, str], float], waited: float) -> Work:
    """That work, for at most as long as another process waited."""
    whole = sum(work.values())
    part = min(waited / whole, 1.0) if whole else 0.0
    return {key: seconds * part for key, seconds in work.items()}
