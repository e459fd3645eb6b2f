"""Removes a phase that was inferred from names if samples contradict it.

Between two events, a program may store a transition and then simulate for a while. The names in the
code show the storing. If most of the time was spent in loops without any such name, the code is
listed as the gap between the two events instead. A phase with other evidence too (other events, a
function recognized or named by the user) keeps its name, because samples cannot tell the two apart.
"""

from __future__ import annotations

from collections import Counter

from hotloop.analyze.renamed import renamed
from hotloop.analyze.samples.functions import unfold
from hotloop.capture.growing import Shard
from hotloop.capture.schema import Notes
from hotloop.phases import name_at

#: The loops' part of a phase from which on they are what its time is about.
MOST_OF_IT = 0.5
#: Fewer samples are no evidence.
ENOUGH_SAMPLES = 20


def take_back(shard: Shard) -> Shard:
    """The shard without names for code that mostly does something else."""
    given = [(gap, row[0], row[1:]) for gap, row in shard.notes.silent_loops.items() if row]
    times = Counter(phase for _, phase, _ in given)
    for gap, phase, lines in given:
        known = times[phase] > 1 or _is_named(shard.notes, phase)
        if lines and not known and _is_silent(shard, phase, frozenset(lines)):
            shard = renamed(shard, phase, gap)
    return shard


def _is_named(notes: Notes, phase: str) -> bool:
    """Whether a function of the program is this phase."""
    by_user = (count for name, count in notes.named_phases.items() if name.startswith(f"{phase}="))
    return phase in notes.shapes or any(by_user)


def _is_silent(shard: Shard, phase: str, lines: frozenset[str]) -> bool:
    seen = count = inside = 0
    in_loop: dict[int, bool] = {}
    for window in shard.windows:
        for (path, stack, _), (samples, ns) in window.samples.items():
            if name_at(path) != phase:
                continue
            if stack not in in_loop:
                rows = unfold(stack, shard.stacks)
                in_loop[stack] = any(f"{row.file}:{row.line}" in lines for row in rows)
            count, seen = count + samples, seen + ns
            inside += ns * in_loop[stack]
    return count >= ENOUGH_SAMPLES and inside > MOST_OF_IT * seen
