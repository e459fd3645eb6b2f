"""Numbers on their way to the page."""

from __future__ import annotations

import pytest
from made_captures import analysis_of, capture_of, made_shard, three_parts

from hotloop.analyze.over_time.history import RunHistory
from hotloop.report.document import make_report
from hotloop.report.html.page_data import page_data, short


@pytest.mark.parametrize("value", [804.4972285, 99.49996, 0.01234996])
def test_a_number_that_is_rounded_again_says_the_same(value: float) -> None:
    for digits in (1, 2, 3):
        assert f"{short(value):.{digits}g}" == f"{value:.{digits}g}"


def test_what_is_no_number_stays() -> None:
    assert [short(each) for each in ("text", None, 7, True)] == ["text", None, 7, True]
    assert len(repr(short(2 / 3))) <= 9


def test_the_beginning_of_a_run_is_exact() -> None:
    shard = made_shard("main", {"started": 1763500000.25}, {}, three_parts())
    report = make_report(analysis_of(shard), [], RunHistory(capture_of(shard)))
    run = page_data(report)["run"]
    assert run["started"] == 1763500000.25
    assert (run["loop_s"], run["env_steps"], run["finished"]) == (3.0, 15, False)
