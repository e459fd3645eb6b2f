"""Whether time that is added to a place of a training is found in its phase."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def check_places(quiet: Callable[[], Any], kept: Callable[[], Any], places: set[str]) -> None:
    """Places kept busy for a known time move their phases by that time, and no other phase.

    The program prints as its last line how long it really kept each of them. A machine that does
    other work meanwhile slows one of the two runs: there are three tries. Time that is charged to
    a wrong phase is charged to it every time.
    """
    for _ in range(3):
        before, after = quiet(), kept()
        spent = json.loads(after.out.splitlines()[-1])
        assert set(spent) == places
        wrong = [
            f"{phase}: {moved:.3f} s more instead of {spent.get(phase, 0):.3f} s"
            for phase in sorted({phase["name"] for phase in after.phases} | places)
            for moved in [after.seconds(phase) - before.seconds(phase)]
            if abs(moved - spent.get(phase, 0)) > _noise(phase, spent, before)
        ]
        if not wrong:
            return
    raise AssertionError("\n".join([*wrong, after.table()]))


def _noise(phase: str, spent: dict[str, float], before: Any) -> float:
    """What a phase may be off by: 5% of what was added to it; half of itself where nothing was."""
    return 0.05 * spent[phase] if phase in spent else 0.1 + 0.5 * before.seconds(phase)
