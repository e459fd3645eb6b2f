"""Bottlenecks by their score."""

from __future__ import annotations

from analyses import Make, phase

from hotloop.analyze.score import add_score
from hotloop.report.detailed import bottlenecks


def test_the_highest_score_comes_first_with_its_advice(make: Make) -> None:
    small, large = phase("log", 0.1), phase("env.step", 6.0, calls=10)
    for each in (small, large):
        add_score(each)
    rows = bottlenecks(make(small, large, phase("learn", 0.0, calls=0)))
    assert [row["name"] for row in rows] == ["env.step", "log"]
    assert rows[0]["marks"] == ["CRITICAL", "SLOW"]
    assert len(rows[0]["recommendations"]) == 2
    assert rows[1]["recommendations"] == []
