"""PyTorch and Gymnasium without a library around them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

Profile = Callable[..., Any]
PROGRAMS = Path(__file__).parents[1] / "programs"


@pytest.mark.real_time
@pytest.mark.parametrize("name", ["plain_ppo", "plain_dqn"])
def test_single_files_are_named_from_what_surrounds_them(profile: Profile, name: str) -> None:
    run = profile(PROGRAMS / f"{name}.py")
    assert run.code == 0, run.err
    run.check_accounted()
    assert run.counter("env_steps") > 0
    assert run.counter("gradient_steps") > 0
    how = {p["name"]: p["how"] for p in run.phases}
    assert how["learn.loss"] == "inferred"
    assert run.seconds("learn.backward") > 0
    if name == "plain_ppo":
        assert how["advantage"] == "inferred"


COMPILED = """
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
optimizer = torch.optim.Adam(model.parameters())
for _ in range(5):
    loss = compiled(torch.ones(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
explained = torch._dynamo.explain(model)(torch.ones(8, 4))
print("breaks", explained.graph_break_count, "loss", float(loss.detach()))
"""


def test_torch_compile_is_left_whole(profile: Profile) -> None:
    under = profile(COMPILED)
    alone = profile(COMPILED, hotloop=False)
    assert under.code == 0, under.err
    assert under.out == alone.out
    assert "breaks 0" in under.out
    assert under.counter("gradient_steps") == 5


VECTORS = """
import gymnasium as gym, numpy as np
envs = gym.vector.{kind}([lambda: gym.wrappers.TimeLimit(gym.make("CartPole-v1"), 20)
    for _ in range(3)])
envs = gym.wrappers.vector.RecordEpisodeStatistics(envs)
envs.reset(seed=1)
ended = 0
for _ in range(200):
    _, _, terminated, truncated, _ = envs.step(np.zeros(3, dtype=np.int64))
    ended += int((terminated | truncated).sum())
print("ended", ended)
envs.close()
"""


@pytest.mark.parametrize("kind", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_vectors_count_every_environment_once(profile: Profile, kind: str) -> None:
    run = profile('if __name__ == "__main__":\n' + "".join(
        f"    {line}\n" for line in VECTORS.format(kind=kind).splitlines()
    ))  # fmt: skip
    assert run.code == 0, run.err
    assert run.counter("env_steps") == 600
    assert run.counter("episodes") == int(run.out.split("ended ")[1])
    steps = [p for p in run.phases if p["name"] == "env.step" and p["process"] == "main"]
    assert sum(p["calls"] for p in steps) == 200


OWN = """
import gymnasium as gym
class Env(gym.Env):
    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(2)
    def __init__(self): self.t = 0
    def reset(self, seed=None, options=None):
        super().reset(seed=seed); self.t = 0
        return 0, {}
    def step(self, action):
        self.t += 1
        return self.t % 3, 1.0, self.t >= 10, False, {}
env = gym.wrappers.TimeLimit(Env(), 50)
env.reset()
for _ in range(1000):
    *_, terminated, truncated, _ = env.step(0)
    if terminated or truncated:
        env.reset()
"""


def test_an_environment_of_the_programs_own(profile: Profile) -> None:
    run = profile(OWN)
    assert run.code == 0, run.err
    assert run.counter("env_steps") == 1000
    assert run.counter("episodes") == 100
    assert run.calls("env.step") == 1000
