"""One color per category, readable under dark text."""

from __future__ import annotations

import pytest

from hotloop.phases import DEFAULT_CATEGORY, PHASES
from hotloop.report.palette import CATEGORY_COLORS, OTHER_COLORS, colors


def luminance(color: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("color", [*CATEGORY_COLORS.values(), *OTHER_COLORS])
def test_black_text_reads_on_it(color: str) -> None:
    assert (luminance(color) + 0.05) / 0.05 >= 7


def test_every_category_has_one_and_own_categories_differ() -> None:
    used = {*PHASES.values(), DEFAULT_CATEGORY}
    found = colors([*used, "Mine", "Yours"])
    assert used | {"Mine", "Yours"} <= found.keys()
    assert found["Mine"] != found["Yours"]
    assert {name: found[name] for name in CATEGORY_COLORS} == CATEGORY_COLORS


def test_more_categories_than_spare_colors() -> None:
    names = [f"own {number}" for number in range(len(OTHER_COLORS) + 1)]
    found = colors(names)
    assert found[names[0]] == found[names[-1]]
