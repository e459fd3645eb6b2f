"""TorchRL as people use it: PPO, DQN, worker processes, compiled environments."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hooks_come_off import check_hooks_come_off
from places import STAYS, check_places

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(find_spec("torchrl") is None, reason="TorchRL is not installed"),
]

PROGRAMS = Path(__file__).parents[1] / "library_programs"


@pytest.mark.real_time
def test_ppo_is_accounted_for_and_left_as_it_was(profile: Any) -> None:
    run = profile(PROGRAMS / "torchrl_ppo.py")
    run.check_accounted()
    assert {
        "collect/env.step",
        "collect/env.reset",
        "collect/policy.act",
        "collect/tensordict",
        "advantage",
        "buffer.add",
        "buffer.sample",
        "learn.loss",
        "learn.backward",
        "learn.optimizer",
    } <= set(run.paths), run.table()
    *printed, weights = run.out.split()[-5:]
    assert run.training_counts() == [int(number) for number in printed]
    assert run.report["libraries"]["TorchRL"]["missing"] == []
    alone = profile(PROGRAMS / "torchrl_ppo.py", hotloop=False)
    assert alone.out.split()[-1] == weights


@pytest.mark.real_time
def test_dqn_is_accounted_for(profile: Any) -> None:
    run = profile(PROGRAMS / "torchrl_dqn.py")
    run.check_accounted()
    assert run.training_counts() == [int(number) for number in run.out.split()[-4:]]
    # Random frames are chosen by the environment, the others by the policy and its exploration.
    assert run.paths["collect/policy.act"]["calls"] == 3200
    assert run.calls("learn.target") == run.counter("gradient_steps")


@pytest.mark.real_time
def test_time_lands_in_the_right_phase(profile: Any, tmp_path: Path) -> None:
    def run(seconds: list[str]) -> Any:
        return profile(PROGRAMS / "torchrl_places.py", *seconds, str(tmp_path / "logged"))

    check_places(run, STAYS)


@pytest.mark.real_time
@pytest.mark.parametrize("workers", ["environments", "collectors"])
def test_workers_are_part_of_the_run(profile: Any, workers: str) -> None:
    run = profile(PROGRAMS / "torchrl_workers.py", workers)
    frames, episodes = map(int, run.out.split()[-2:])
    assert run.counter("env_steps") == frames
    assert run.counter("episodes") == episodes
    assert run.unexplained <= 0.08, run.table()
    waits = [path for path in run.paths if path.endswith("/wait")]
    assert waits, run.table()
    children = {phase["process"] for phase in run.phases} - {"main"}
    assert len(children) == 2, run.table()
    steps = sum(
        p["calls"] for p in run.phases if p["name"] == "env.step" and p["process"] != "main"
    )
    assert steps == frames


def test_compiled_graphs_stay_as_they_are(profile: Any) -> None:
    alone = profile(PROGRAMS / "torchrl_compiled.py", hotloop=False)
    assert "actor 0" in alone.out
    assert profile(PROGRAMS / "torchrl_compiled.py").out == alone.out


def test_hooks_come_off_completely(profile: Any) -> None:
    modules = (
        "torchrl.collectors,torchrl.envs,torchrl.data,torchrl.objectives.value,torchrl.trainers,"
        "torchrl.record.loggers"
    )
    # Modules that are registered by class are left alone.
    check_hooks_come_off(profile, "torchrl", "torchrl", modules, not_hooked=3)
