"""Whether time that is added to a place of a training is found in its phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

TRIES = 5


def check_places(run: Callable[[list[str]], Any], stays: dict[str, float]) -> None:
    """Places kept busy for longer move their phases by that much longer, and no other phase.

    `run` runs a program that takes seconds a call for each place, and prints as its last line how
    long it really kept each of them. It is run with half of `stays`, then with all: a processor
    that was kept busy comes back to cold caches, so what follows is slower than without any stay.

    A machine that does other work meanwhile stalls one of the two runs, here in one phase and there
    in another. Time that is charged to a wrong phase is charged to it every time: a phase is wrong
    if no try had it right.
    """
    wrong: set[str] | None = None
    told: list[str] = []
    for attempt in range(TRIES):
        before, after = (run([str(s * part) for s in stays.values()]) for part in (0.5, 1.0))
        added = _added(before, after)
        assert set(added) == set(stays)
        off = {
            phase: moved
            for phase in {phase["name"] for phase in after.phases} | set(stays)
            for moved in [after.seconds(phase) - before.seconds(phase)]
            if abs(moved - added.get(phase, 0)) > _noise(phase, added, before)
        }
        wrong = set(off) if wrong is None else wrong & set(off)
        told += [
            f"try {attempt + 1}, {phase}: {moved:.3f} s more instead of {added.get(phase, 0):.3f} s"
            for phase, moved in sorted(off.items())
        ]
        if not wrong:
            return
    raise AssertionError("\n".join([f"never right: {sorted(wrong or ())}", *told, after.table()]))


def _added(before: Any, after: Any) -> dict[str, float]:
    less, more = (json.loads(run.out.splitlines()[-1]) for run in (before, after))
    return {place: more[place] - less[place] for place in more}


def _noise(phase: str, added: dict[str, float], before: Any) -> float:
    """What a phase may be off by: 5% of what was added to it; half of itself where nothing was."""
    return 0.05 * added[phase] if phase in added else 0.1 + 0.5 * before.seconds(phase)
