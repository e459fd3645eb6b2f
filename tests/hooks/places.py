"""Whether time that is added to a place of a training is found in its phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

TRIES = 6


def check_places(run: Callable[[list[str]], Any], stays: dict[str, float]) -> None:
    """Places kept busy for longer move their phases by that much longer, and no other phase.

    `run` runs a program that takes seconds a call for each place, and prints as its last line how
    long it really kept each of them. It is run with half of `stays`, then with all: a processor
    that was kept busy comes back to cold caches, so what follows is slower than without any stay.

    What a phase takes beside the stay in it must be the same in both. Other work on the machine
    stalls a run here and there, and only ever adds to it: of several tries the least counts.
    """
    halves: dict[str, float] = {}
    wholes: dict[str, float] = {}
    for _ in range(TRIES):
        for least, part in ((halves, 0.5), (wholes, 1.0)):
            ended = run([str(s * part) for s in stays.values()])
            spent = json.loads(ended.out.splitlines()[-1])
            assert set(spent) == set(stays)
            for phase in {phase["name"] for phase in ended.phases} | set(stays):
                beside = ended.seconds(phase) - spent.get(phase, 0.0)
                least[phase] = min(beside, least.get(phase, beside))
        added = {place: seconds / 2 for place, seconds in spent.items()}
        wrong = [
            f"{phase}: {added.get(phase, 0.0):.3f} s added, of which {after - before:+.3f} s off"
            for phase, after in sorted(wholes.items())
            for before in [halves.get(phase, 0.0)]
            if abs(after - before) > _noise(phase, added, before)
        ]
        if not wrong:
            return
    raise AssertionError("\n".join([*wrong, ended.table()]))


def _noise(phase: str, added: dict[str, float], before: float) -> float:
    """What a phase may be off by: 5% of what was added to it; half of itself where nothing was."""
    return 0.05 * added[phase] if phase in added else 0.1 + 0.5 * before
