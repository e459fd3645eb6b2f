"""Real runs that are measured in stretches: the same training, counts and findings' basis."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hotloop.analyze.processes.training import read_capture
from hotloop.phases import REST

pytest.importorskip("hotloop.measure._native")
pytest.importorskip("gymnasium")
pytest.importorskip("torch")

TRAINING = """
import time
import gymnasium as gym
import numpy as np
import torch

torch.set_num_threads(1)
torch.manual_seed(0)
envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(3)])
net = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(net.parameters())
obs, _ = envs.reset(seed=0)


def learn(rows):
    loss = net(torch.as_tensor(rows)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for step in range(24_000):
    with torch.no_grad():
        actions = net(torch.as_tensor(obs)).argmax(1).numpy()
    obs, _, _, _, _ = envs.step(actions)
    if step % 4 == 0:
        learn(obs)
"""


def run(folder: Path, *options: str) -> tuple[dict[str, Any], Any]:
    """The report of a run, and the process's shard as analyses read it."""
    script = folder / "train.py"
    script.write_text(TRAINING)
    capture = folder / ("cap" + "".join(options))
    words = ["run", "-q", "-o", str(capture), "--weights", "--every-call-for", "0.5s", *options]
    command = [sys.executable, "-m", "hotloop", *words, str(script)]
    subprocess.run(command, check=True, timeout=300)
    shown = subprocess.run(
        [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(shown.stdout), read_capture(capture).main


def test_stretches_agree_with_every_call(tmp_path: Path) -> None:
    found, shard = run(tmp_path)
    exact, whole = run(tmp_path, "--every-call")
    assert found["overhead"]["measured"] < 0.7
    assert exact["overhead"]["measured"] == 1
    for name in ("env_steps", "episodes", "gradient_steps"):
        assert found["run"][name] == exact["run"][name] > 0
    # Also of the update that a stretch begins with, whose network was called before.
    assert found["run"]["batch_size"] == exact["run"]["batch_size"] == 3
    assert shard.notes.weights == whole.notes.weights
    paths = {path for window in shard.windows for path, _, _ in window.samples}
    assert not any(REST in path for path in paths)
    # Samples of the whole loop count, not only those of stretches.
    sampled_s = sum(
        ns for w in shard.windows if w.loop_last_ns for (path, *_), (_, ns) in w.samples.items()
        if not path.startswith("@")
    ) / 1e9  # fmt: skip
    assert sampled_s > 0.9 * found["run"]["loop_s"]
