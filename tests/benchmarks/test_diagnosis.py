"""A fast sample of the diagnosis scoreboard: real programs under the real command."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")
from benchmarks.diagnosis.frozen import MARK, SETS, planted_in
from benchmarks.diagnosis.runs import HEALTHY, HERE, Score, all_ids, look_at, program

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
    # On a busy machine, the sentence about waiting for a core comes first.
    assert "No known cause matched" in seen.verdict


def test_every_program_has_its_other_half() -> None:
    slow = {p.name[: -len("_slow.py")] for p in program("x", "slow").parent.glob("*_slow.py")}
    assert {id.replace("-", "_") for id in all_ids()} == slow


@pytest.mark.parametrize("name", SETS)
def test_the_frozen_programs_have_the_lines_that_they_name(name: str) -> None:
    paths = sorted((HERE / name).glob("*.py"))
    assert len(paths) == {"fifth": 47, "sixth": 18, "seventh": 26}.get(name, 24)
    for path in paths:
        own = [line for line in path.read_text().splitlines() if MARK not in line]
        assert MARK in path.read_text(), path
        for planted in planted_in(path):
            assert any(planted.line in line for line in own), (path.name, planted)
