"""Processes of one kind, by their names."""

from __future__ import annotations

import pytest
from sampled_phases import analysis

from hotloop.analyze.processes.process_groups import group_of, groups


@pytest.mark.parametrize(
    ("process", "group"),
    [
        ("SingleAgentEnvRunner-2", "SingleAgentEnvRunner"),
        ("Process-1:3", "Process-1"),
        ("loader 12", "loader"),
        ("logger", "logger"),
        ("7", "7"),
    ],
)
def test_the_kind_of_a_process(process: str, group: str) -> None:
    assert group_of(process) == group


def test_several_of_one_kind_share_a_label() -> None:
    assert groups(analysis("env-1", "env-2", "logger")) == {
        "main": ["main"],
        "env (2)": ["env-1", "env-2"],
        "logger": ["logger"],
    }
