"""Colors of pictures."""

from __future__ import annotations

from hotloop.report.figures import ACCENT, shade


def test_phases_of_a_category_get_their_own_shades() -> None:
    assert shade(ACCENT, 0) == ACCENT
    shades = [shade(ACCENT, nth) for nth in range(4)]
    assert len(set(shades)) == 4
    darker, lighter = (sum(int(shades[n][i : i + 2], 16) for i in (1, 3, 5)) for n in (1, 2))
    assert darker < lighter
