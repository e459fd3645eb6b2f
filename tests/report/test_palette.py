"""One color per category, readable under dark text."""

from __future__ import annotations

import pytest

from hotloop.phases import DEFAULT_CATEGORY, PHASES
from hotloop.report.palette import CATEGORY_COLOURS, OTHER_COLOURS, colours


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", [*CATEGORY_COLOURS.values(), *OTHER_COLOURS])
def test_black_text_reads_on_it(colour: str) -> None:
    assert (luminance(colour) + 0.05) / 0.05 >= 7


def test_every_category_has_one_and_own_categories_differ() -> None:
    used = {*PHASES.values(), DEFAULT_CATEGORY}
    found = colours([*used, "Mine", "Yours"])
    assert used | {"Mine", "Yours"} <= found.keys()
    assert found["Mine"] != found["Yours"]
    assert {name: found[name] for name in CATEGORY_COLOURS} == CATEGORY_COLOURS


def test_more_categories_than_spare_colors() -> None:
    names = [f"own {number}" for number in range(len(OTHER_COLOURS) + 1)]
    found = colours(names)
    assert found[names[0]] == found[names[-1]]
