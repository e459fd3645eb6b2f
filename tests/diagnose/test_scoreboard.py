"""A fast sample of the diagnosis scoreboard: real programs under the real command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.diagnosis.runs import HEALTHY, Score, all_ids, look_at, program

SAMPLE = ("python-gae", "naive-priority-sampling")


@pytest.mark.parametrize("id", SAMPLE)
def test_the_planted_cause_leads_and_is_gone_when_fixed(id: str) -> None:
    score = Score(id, look_at(program(id, "slow")), look_at(program(id, "fixed")))
    assert score.first, score.slow.ids()
    assert not score.still, score.fixed.ids()
    finding = score.slow.finding(id)
    assert finding is not None
    assert finding["where"], "a place in the program"
    assert Path(finding["where"][0]["file"]).name == program(id, "slow").name
    low, high = score.predicted or (0, 0)
    assert 1 < low < high


def test_a_healthy_program_raises_no_alarm() -> None:
    seen = look_at(HEALTHY / "q_table.py")
    assert seen.ids("critical", "warning") == []
    assert seen.verdict.startswith("Nothing significant")


def test_every_program_has_its_other_half() -> None:
    slow = {p.name[: -len("_slow.py")] for p in program("x", "slow").parent.glob("*_slow.py")}
    assert {id.replace("-", "_") for id in all_ids()} == slow
