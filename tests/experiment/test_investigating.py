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
