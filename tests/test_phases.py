"""Names of phases: their categories, their flags, and paths that hold any name."""

from __future__ import annotations

import pytest

from hotloop import phases


@pytest.mark.parametrize("names", [[], ["learn"], ["a/b", "50%", "%2F"], ["", "x"], ["%25/"]])
def test_a_path_returns_the_names_it_was_made_of(names: list[str]) -> None:
    path = phases.path_of(names)
    assert phases.names_of(path) == names
    assert path.count("/") == max(len(names) - 1, 0)


def test_categories() -> None:
    assert phases.category_of("env.step") == "Environment"
    assert phases.category_of("between step and forward") == phases.UNIDENTIFIED
    assert phases.category_of("my own region") == phases.DEFAULT_CATEGORY


def test_what_begins_the_loop_is_part_of_it() -> None:
    assert phases.LOOP_PHASES.keys() >= phases.LOOP_BEGINS
    assert not phases.LOOP_PHASES.keys() & phases.OTHER_PHASES.keys()
    flags = {phases.flags_of(name) & ~phases.REGION_LEARNS for name in phases.LOOP_BEGINS}
    assert flags == {phases.REGION_LOOP}


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("evaluate", phases.REGION_ASIDE),
        ("import", phases.REGION_SHALLOW),
        ("env.reset", phases.REGION_BESIDE),  # a program resets while it is being set up
        ("policy.act", 0),
        ("between step and forward", 0),
        ("my own region", phases.REGION_BESIDE),
    ],
)
def test_flags(name: str, flags: int) -> None:
    assert phases.flags_of(name) == flags
