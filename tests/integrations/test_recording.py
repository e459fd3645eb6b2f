"""A stretch of a program is recorded, and then everything is as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import documented_programs
import pytest

pytestmark = pytest.mark.programs

TWICE = """
import gc, json, os, signal, sys, warnings
import importlib._bootstrap as bootstrap
import gymnasium
import torch
from torch import nn
from hotloop import get_profiler
from hotloop.integrations import record

class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,))
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        self.left = 50
        return self.observation_space.low, {}
    def step(self, action):
        self.left -= 1
        return self.observation_space.low, 1.0, self.left == 0, False, {}

def train(steps, kind=torch.optim.Adam):
    network = nn.Linear(4, 2)
    optimizer = kind(network.parameters(), lr=0.1)
    env = Corridor()
    env.reset()
    for _ in range(steps):
        answer = env.step(0)
        if answer[2]:
            env.reset()
        optimizer.zero_grad()
        network(torch.ones(8, 4)).sum().backward()
        optimizer.step()

def state():
    return {
        "find_and_load": id(sys.modules["_frozen_importlib"]._find_and_load),
        "call": id(nn.Module.__call__), "backward": id(torch.Tensor.backward),
        "step": id(torch.optim.SGD.step), "env": id(Corridor.step), "train": id(train),
        "exit": id(os._exit), "collect": id(gc.collect),
        "hooked": get_profiler().core.original(gc.collect) is not gc.collect,
        "sigterm": str(signal.getsignal(signal.SIGTERM)), "path": os.environ.get("PYTHONPATH"),
        "session": os.environ.get("HOTLOOP_SESSION"),
    }

train(1, torch.optim.SGD)  # torch changes a class's `step` when the first one is made
before = state()
with record("one", quiet=True):
    during = state()
    train(100)
between = state()
train(30)  # not recorded
with record("two", quiet=True):
    train(200)
print(json.dumps({"same": before == between == state(), "hooked": before["hooked"] != during["hooked"]}))
"""


def run(code: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(code)
    return subprocess.run(
        [sys.executable, *options, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def report(capture: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_twice_in_one_process(tmp_path: Path) -> None:
    """Libraries that were imported before are hooked; each capture has its own figures only."""
    done = run(TWICE, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"same": True, "hooked": True}
    for name, steps in (("one", 100), ("two", 200)):
        found = report(tmp_path / name)
        assert found["run"]["env_steps"] == steps
        assert found["run"]["gradient_steps"] == steps
        phases = {phase["name"] for phase in found["phases"]}
        assert {"env.step", "learn.backward", "learn.optimizer"} <= phases
        assert found["run"]["startup_s"] < 1.0


def test_under_run_it_does_nothing(hotloop: Any, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TWICE)
    done = hotloop("run", "-q", "-o", "cap", "program.py")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hooked"] is False  # not by `record`: it was before
    assert not (tmp_path / "one").exists()
    assert report(tmp_path / "cap")["run"]["env_steps"] == 331


ENDS = """
import os, sys
from hotloop import profile, count
from hotloop.integrations import record
recording = record("cap")
for _ in range(10):
    with profile("env.step"):
        count("env_steps", 1)
{end}
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [("", 0), ("sys.exit(3)", 3), ("1 / 0", 1), ("os._exit(4)", 4), ("recording.end()", 0)],
)
def test_whatever_ends_it(tmp_path: Path, end: str, code: int) -> None:
    """The one line at the top of a program is enough: its end finishes the capture."""
    done = run(ENDS.format(end=end), tmp_path)
    assert done.returncode == code
    assert done.stdout == ""
    assert "10 steps" in done.stderr
    assert report(tmp_path / "cap")["run"]["env_steps"] == 10


def test_a_redefined_function_stays(tmp_path: Path) -> None:
    """Hooks are taken off; what the program has put in their place in the meantime is its own."""
    code = """
from hotloop import get_profiler
from hotloop.integrations import record
def work(): return 1
with record("cap", phases=["log=__main__:work"], quiet=True):
    assert get_profiler().core.original(work) is not work
    def work(): return 2
print(work())
"""
    assert run(code, tmp_path).stdout == "2\n"


def test_an_existing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cap").mkdir()
    done = run("from hotloop.integrations import record\nrecord('cap')", tmp_path)
    assert "already exists" in done.stderr
    assert "HotloopError" in done.stderr


LOOP = """
from hotloop import count, profile

for _ in range(20):
    with profile("env.step"):
        count("env_steps", 4)
"""


@pytest.mark.framework
def test_the_one_line(tmp_path: Path) -> None:
    done = documented_programs.run(documented_programs.documented("one_line") + LOOP, tmp_path)
    assert "80 steps" in done.stderr
    assert documented_programs.report(tmp_path)["run"]["env_steps"] == 80


@pytest.mark.framework
def test_two_at_once(tmp_path: Path) -> None:
    code = """
from hotloop.integrations import record
first = record("one", quiet=True)
second = record("two", quiet=True)
second.end()
print(first.is_on, second.is_on)
"""
    done = documented_programs.run(code, tmp_path)
    assert done.stdout == "True False\n"
    assert "one is still being recorded" in done.stderr
    assert not (tmp_path / "two").exists()
