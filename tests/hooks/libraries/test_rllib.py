"""RLlib's new API stack, in one process and in Ray actors."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hooks_come_off import check_hooks_come_off

pytestmark = pytest.mark.framework

PROGRAMS = Path(__file__).parents[1] / "library_programs"

#: What `ray.rllib` needs beside Ray itself.
NEEDED = ("ray", "dm_tree", "lz4", "ormsgpack", "pandas", "pyarrow", "pydantic", "scipy")
MISSING = [name for name in NEEDED if find_spec({"dm_tree": "tree"}.get(name, name)) is None]
needs_rllib = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray keeps results and its cluster's token in the home folder; not in the user's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def phases_of(run: Any, process: str) -> set[str]:
    return {phase["path"] for phase in run.phases if phase["process"] == process}


@pytest.mark.real_time
@needs_rllib
def test_one_process_is_accounted_for(profile: Any) -> None:
    run = profile(PROGRAMS / "rllib_ppo.py", "0", "0")
    run.check_accounted(0.90)
    assert {
        "collect/connectors",
        "collect/policy.act",
        "collect/env.step",
        "collect/buffer.add",
        "learn/connectors/advantage",
        "learn/learn.forward",
        "learn/learn.loss",
        "learn/learn.backward",
        "learn/learn.optimizer",
        "sync.weights",
        "metrics",
    } <= set(run.paths), run.table()
    steps, episodes = map(int, run.out.split()[-2:])
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert run.counter("iterations") == 3
    assert run.counter("samples") == 128 * run.counter("gradient_steps") > 0
    assert run.report["libraries"]["RLlib"]["missing"] == []


@pytest.mark.real_time
@needs_rllib
def test_actors_are_part_of_the_run(profile: Any) -> None:
    run = profile(PROGRAMS / "rllib_ppo.py", "1", "1")
    assert run.coverage >= 0.90, run.table()
    assert {"collect/wait", "learn/wait", "sync.weights"} <= set(run.paths), run.table()
    steps, episodes = map(int, run.out.split()[-2:])
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert {"collect/env.step", "collect/policy.act", "collect/connectors"} <= phases_of(
        run, "SingleAgentEnvRunner-1"
    )
    assert {"learn/learn.loss", "learn/learn.backward"} <= phases_of(run, "PPOTorchLearner-0")


@needs_rllib
def test_hooks_come_off_completely(profile: Any) -> None:
    modules = (
        "ray.rllib,ray.rllib.algorithms.ppo,ray.rllib.connectors.learner,"
        "ray.rllib.env.single_agent_env_runner,ray.rllib.core.learner.torch.torch_learner"
    )
    check_hooks_come_off(profile, "rllib", "ray.rllib", modules)
