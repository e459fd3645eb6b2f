"""Tianshou 2 as people use it: DQN and PPO with its trainer, evaluation and logging."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hooks_come_off import check_hooks_come_off
from places import STAYS, check_places

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(find_spec("tianshou") is None, reason="Tianshou is not installed"),
]

PROGRAMS = Path(__file__).parents[1] / "library_programs"


@pytest.mark.real_time
def test_dqn_is_accounted_for_and_left_as_it_was(profile: Any, tmp_path: Path) -> None:
    run = profile(PROGRAMS / "tianshou_dqn.py", str(tmp_path / "logged"))
    run.check_accounted()
    assert {
        "collect/env.step",
        "collect/env.reset",
        "collect/policy.act",
        "collect/buffer.add",
        "learn/buffer.sample",
        "learn/advantage",
        "learn/learn.forward",
        "learn/learn.loss",
        "learn/learn.backward",
        "learn/learn.optimizer",
        "learn/learn.target",
        "evaluate",
        "log",
    } <= set(run.paths), run.table()
    *printed, weights = run.out.split()[-5:]
    # The steps of the evaluation are not steps of the training.
    assert run.training_counts() == [int(number) for number in printed]
    assert run.report["libraries"]["Tianshou"]["missing"] == []
    alone = profile(PROGRAMS / "tianshou_dqn.py", str(tmp_path / "alone"), hotloop=False)
    assert alone.out.split()[-1] == weights


@pytest.mark.real_time
def test_ppo_is_accounted_for(profile: Any) -> None:
    run = profile(PROGRAMS / "tianshou_ppo.py")
    run.check_accounted()
    assert "learn/advantage" in run.paths, run.table()
    assert run.training_counts() == [int(number) for number in run.out.split()[-4:]]


@pytest.mark.real_time
def test_time_lands_in_the_right_phase(profile: Any) -> None:
    check_places(lambda seconds: profile(PROGRAMS / "tianshou_places.py", *seconds), STAYS)


def test_hooks_come_off_completely(profile: Any) -> None:
    modules = "tianshou.algorithm,tianshou.data,tianshou.env,tianshou.trainer,tianshou.utils"
    check_hooks_come_off(profile, "tianshou", "tianshou", modules)
