"""Options of a run are checked before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.errors import HotloopError
from hotloop.run.options import all_phases, check_alterations, checked_phases


def test_patterns_of_the_command_line_come_before_those_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hotloop.phases]\ndata = ["loader:load"]\n')
    found = all_phases(["features=analyzer:Analyzer.*"], tmp_path)
    assert found == ["features=analyzer:Analyzer.*", "data=loader:load"]


@pytest.mark.parametrize("wrong", ["data", "=loader:load", "data=loader"])
def test_a_pattern_that_is_wrong_is_named(wrong: str) -> None:
    with pytest.raises(HotloopError, match="--phase"):
        checked_phases([wrong])


@pytest.mark.parametrize(
    ("skip", "slow", "every", "fixes"),
    [
        ([], ["env.step"], [], []),
        ([], [], ["evaluate=0"], []),
        ([], [], [], ["no-such-fix"]),
    ],
)
def test_a_change_that_is_wrong_is_refused(
    skip: list[str], slow: list[str], every: list[str], fixes: list[str]
) -> None:
    check_alterations(["evaluate"], ["env.step=2ms"], ["log=10"], ["threads=1"])
    with pytest.raises(HotloopError):
        check_alterations(skip, slow, every, fixes)
