"""`compare --to-return` with real runs: a program whose return grows with its steps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hotloop.experiment import to_return
from hotloop.experiment.command import parse_command
from hotloop.experiment.here import Here
from hotloop.experiment.to_return import ReturnDesign, ReturnRuns
from hotloop.measure.core import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="returns are added up by the native module")

PROGRAM = """
import random, sys

gain, episodes = float(sys.argv[1]), int(sys.argv[2])
chance = random.Random(int(sys.argv[3]))

class Env:
    def reset(self):
        self.steps = 0
        return 0.0
    def step(self, action):
        self.steps += 1
        return 0.0, action + chance.random() - 0.5, self.steps >= 20, {}

env = Env()
for episode in range(episodes):
    env.reset()
    done = False
    while not done:
        _, _, done, _ = env.step(gain * episode)
print("ended by itself")
"""


def compare(folder: Path, *arguments: str) -> dict[str, Any]:
    program = folder / "train.py"
    program.write_text(PROGRAM)
    first, second = arguments[:2]
    command = [
        sys.executable,
        "-m",
        "hotloop",
        "compare",
        f"{program} {first}",
        f"{program} {second}",
    ]
    command += ["--folder", str(folder / "runs"), "--format", "json", *arguments[2:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_runs_end_when_the_return_is_reached(tmp_path: Path) -> None:
    found = compare(
        tmp_path, "0.01 2000 {seed}", "0.005 2000 {seed}", "--to-return", "40", "--seeds", "2"
    )
    first, second = found["attempts"]
    assert all(each["reached"] for each in (*first, *second))
    # A mean of 40 over 100 episodes of 20 steps is an action of 2: twice as late with half the gain.
    for fast, slow in zip(first, second, strict=True):
        assert fast["env_steps"] == pytest.approx(20 * 250, rel=0.1)
        assert slow["env_steps"] == pytest.approx(20 * 450, rel=0.1)
    assert found["verdict"] == "cannot tell"  # two seeds exclude nothing
    assert found["steps"]["estimate"] < 0.7
    log = (tmp_path / "runs" / "seed-01" / "a.log").read_text()
    assert "ended by itself" not in log


def test_a_run_that_ends_before_is_censored_and_auto_finds_a_target(tmp_path: Path) -> None:
    found = compare(
        tmp_path, "0.01 400 {seed}", "0.01 150 {seed}", "--to-return", "60", "--seeds", "1"
    )
    first, second = found["attempts"]
    assert first[0]["reached"]
    assert not second[0]["reached"]
    assert second[0]["env_steps"] == 150 * 20
    (tmp_path / "auto").mkdir()
    found = compare(
        tmp_path / "auto",
        "0.01 400 {seed}",
        "0.01 300 {seed}",
        "--to-return",
        "auto",
        "--seeds",
        "1",
    )
    assert 20 < found["target"] < 50
    assert all(each["reached"] for side in found["attempts"] for each in side)


def test_interrupted_it_reports_the_seeds_that_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_round(self: ReturnRuns, seed: int, target: float | None) -> tuple[()]:
        if seed == 1:
            raise KeyboardInterrupt
        return ()

    monkeypatch.setattr(to_return, "auto_target", lambda returns: 5.0)
    monkeypatch.setattr(ReturnRuns, "_round", one_round)
    commands = (parse_command("a.py"), parse_command("b.py"))
    runs = ReturnRuns(
        commands, ("a", "b"), ReturnDesign(None, 6), tmp_path, Here(), lambda text: None
    )
    result = runs.go()
    assert result.interrupted
    assert result.target == 5.0
