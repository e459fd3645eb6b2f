"""Colors of pictures."""

from __future__ import annotations

from hotloop.report.figures import ACCENT, legend_columns, shade


def test_phases_of_a_category_get_their_own_shades() -> None:
    assert shade(ACCENT, 0) == ACCENT
    shades = [shade(ACCENT, nth) for nth in range(4)]
    assert len(set(shades)) == 4
    darker, lighter = (sum(int(shades[n][i : i + 2], 16) for i in (1, 3, 5)) for n in (1, 2))
    assert darker < lighter


def test_a_legend_of_long_names_has_fewer_columns() -> None:
    assert legend_columns([], 3, 50) == 3
    assert legend_columns(["learn.loss"] * 9, 3, 50) == 3
    assert legend_columns(["a name of its own, in words"] + ["env.step"] * 8, 3, 40) == 2
    assert legend_columns(["a name of its own, in words"] * 9, 3, 40) == 1
