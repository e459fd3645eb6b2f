"""Numbers on their way to the page."""

from __future__ import annotations

import pytest

from hotloop.report.page_data import short


@pytest.mark.parametrize("value", [804.4972285, 99.49996, 0.01234996])
def test_a_number_that_is_rounded_again_says_the_same(value: float) -> None:
    for digits in (1, 2, 3):
        assert f"{short(value):.{digits}g}" == f"{value:.{digits}g}"


def test_what_is_no_number_stays() -> None:
    assert [short(each) for each in ("text", None, 7, True)] == ["text", None, 7, True]
    assert len(repr(short(2 / 3))) <= 9
