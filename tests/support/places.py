"""Whether time that is added to a place of a training is found in its phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

TRIES = 6
#: The places that are kept busy, and for how many seconds a call.
STAYS = {
    "env.step": 0.012,
    "policy.act": 0.008,
    "buffer.sample": 0.040,
    "learn.loss": 0.030,
    "learn.optimizer": 0.035,
    "log": 0.025,
}


def check_places(run: Callable[[list[str]], Any], stays: dict[str, float]) -> None:
    """Places kept busy for longer move their phases by that much longer, and no other phase.

    `run` runs a program that takes seconds a call for each place, and prints as its last line how
    long it really kept each of them. It is run with half of `stays`, then with all: a processor
    that was kept busy comes back to cold caches, so what follows is slower than without any stay.

    What a phase takes beside the stay in it must be the same in both. Other work on the machine
    stalls a run here and there: a phase is wrong if neither a single try had it right nor the
    least of all tries has. Time that is charged to a wrong phase is charged to it every time.
    """
    never_right: set[str] | None = None
    halves: dict[str, float] = {}
    wholes: dict[str, float] = {}
    for _ in range(TRIES):
        half, whole = (run([str(s * part) for s in stays.values()]) for part in (0.5, 1.0))
        added = {place: seconds / 2 for place, seconds in _spent(whole).items()}
        assert set(added) == set(stays)
        before, after = _beside(half, stays), _beside(whole, stays)
        halves, wholes = _least(halves, before), _least(wholes, after)
        off = set(_off(before, after, added))
        never_right = off if never_right is None else never_right & off
        wrong = _off(halves, wholes, added)
        if not never_right & set(wrong):
            return
    raise AssertionError("\n".join([*(f"{n}: {t}" for n, t in wrong.items()), whole.table()]))


def _spent(ended: Any) -> dict[str, float]:
    """What the program itself says that it spent in its places."""
    return dict(json.loads(ended.out.splitlines()[-1]))


def _beside(ended: Any, stays: dict[str, float]) -> dict[str, float]:
    """Phase -> what it took beside the stay in it."""
    spent = _spent(ended)
    names = {phase["name"] for phase in ended.phases} | set(stays)
    return {name: ended.seconds(name) - spent.get(name, 0.0) for name in names}


def _least(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {
        name: min(each[name] for each in (one, other) if name in each) for name in {*one, *other}
    }


def _off(
    before: dict[str, float], after: dict[str, float], added: dict[str, float]
) -> dict[str, str]:
    """Phases that took more or less than was added to them."""
    moved = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in {*before, *after}}
    return {
        name: f"{added.get(name, 0.0):.3f} s added, {more:+.3f} s off"
        for name, more in sorted(moved.items())
        if abs(more) > _noise(name, added, before.get(name, 0.0))
    }


def _noise(phase: str, added: dict[str, float], before: float) -> float:
    """What a phase may be off by: 5% of what was added to it; half of itself where nothing was."""
    return 0.05 * added[phase] if phase in added else 0.1 + 0.5 * before
