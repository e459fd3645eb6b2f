"""Searches, simulations and games of a whole program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Profile = Callable[..., Any]
PROGRAM = Path(__file__).parents[1] / "own_programs" / "nim_tree.py"


def test_everything_is_counted_once(profile: Profile) -> None:
    run = profile(PROGRAM)
    games, moves, simulations = map(int, run.out.split())
    assert run.counter("games") == games
    assert run.counter("searches") == run.calls("search") == moves
    assert run.counter("simulations") == simulations
    assert run.report["shapes"]["search"] == ["__main__:pick"]
