"""The order in which hypotheses are tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_plans import WHOLE, write

from hotloop.experiment.investigating import in_order
from hotloop.experiment.plan import read_plan

pytest.importorskip("tomllib", reason="Python 3.10 needs tomli")


def test_the_likeliest_and_cheapest_are_tried_first(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, WHOLE))
    names = [hypothesis.name for hypothesis in in_order(plan.hypotheses)]
    assert names == ["ratio", "threads", "environment", "no learning"]


def test_changes_come_before_experiments(tmp_path: Path) -> None:
    plan = """
[baseline]
command = "train.py"
[[hypothesis]]
name = "without env.step"
claim = "env.step is most of the loop"
skip = "env.step"
expected = "5x to 9x"
confidence = "high"
[[hypothesis]]
name = "threads"
claim = "threads wait for each other"
arguments = "--threads 1"
expected = "1.1x to 1.2x"
confidence = "low"
"""
    ordered = in_order(read_plan(write(tmp_path, plan)).hypotheses)
    assert [each.name for each in ordered] == ["threads", "without env.step"]
