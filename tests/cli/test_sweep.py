"""`hotloop sweep`, with real runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from real_runs import Hotloop, check_refused

pytest.importorskip("scipy")

pytestmark = pytest.mark.programs


@pytest.mark.real_time
def test_a_sweep_finds_what_grows(hotloop: Hotloop, program: Path) -> None:
    result = hotloop(
        "sweep",
        *("--vary", "ms=2,6,18", "--rounds", "2", "--warm-up", "0", "--steps", "12"),
        *("--expect", "constant", "--format", "json"),
        *("--", "train.py", "--env-ms", "{ms}"),
    )
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["schema"] == "hotloop.sweep/1"
    assert document["vary"] == {"ms": ["2", "6", "18"]}
    assert [point["values"]["ms"] for point in document["points"]] == ["2", "6", "18"]
    assert all(point["runs"] == 2 for point in document["points"])
    speeds = [point["steps_per_s"]["median"] for point in document["points"]]
    assert speeds == sorted(speeds, reverse=True)
    (growth,) = document["growth"]
    phases = {phase["name"]: phase["exponent"]["estimate"] for phase in growth["phases"]}
    assert phases["env.step"] == pytest.approx(1.0, abs=0.2)
    assert abs(phases["learn"]) < 0.4
    (expected,) = document["expect"]
    assert expected["responsible"] == "env.step"
    assert expected["rows"][-1]["times_slower"]["estimate"] > 2
    assert "round 2 of 2" in result.stderr


def test_a_table_for_people(hotloop: Hotloop, program: Path) -> None:
    result = hotloop(
        "sweep",
        *("--vary", "envs=1,4", "--vary", "ms=1,8", "--rounds", "1", "--warm-up", "0"),
        *("--", "train.py", "--steps", "6", "--envs", "{envs}", "--env-ms", "{ms}"),
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1] == "  4 settings, 1 round"
    assert " is the fastest: " in lines[3]
    assert lines[5].split()[:4] == ["envs", "ms", "steps/s", "time"]
    assert [line.split()[:2] for line in lines[6:10]] == [
        ["1", "1"],
        ["1", "8"],
        ["4", "1"],
        ["4", "8"],
    ]


def test_a_page(hotloop: Hotloop, program: Path) -> None:
    result = hotloop(
        "sweep",
        *("--vary", "ms=1,4", "--rounds", "1", "--warm-up", "0", "-o", "sweep.html"),
        *("--", "train.py", "--steps", "6", "--env-ms", "{ms}"),
    )
    assert result.returncode == 0, result.stderr
    assert "is the fastest" in result.stdout
    assert "wrote sweep.html" in result.stderr
    assert (program / "sweep.html").read_text().startswith("<!doctype html>")


def test_a_setting_that_fails_is_left_out_and_told(hotloop: Hotloop, program: Path) -> None:
    result = hotloop(
        "sweep",
        *("--vary", "flag=--steps=5,--fail", "--rounds", "2", "--warm-up", "0"),
        *("--format", "json", "--", "train.py", "{flag}"),
    )
    assert result.returncode == 2
    document = json.loads(result.stdout)
    assert [point["values"]["flag"] for point in document["points"]] == ["--steps=5"]
    (failure,) = document["failures"]  # tried once, not again in the second round
    assert failure["name"] == "flag=--fail"
    assert "loss is nan" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--", "train.py"), "nothing to vary"),
        (("--vary", "envs", "--", "train.py", "{envs}"), "a setting and its values"),
        (("--vary", "envs=1,1", "--", "train.py", "{envs}"), "the same value twice"),
        (("--vary", "envs=1,2", "--", "train.py"), "the command does not use it"),
        (("--vary", "a=1", "--vary", "a=2", "--", "train.py", "{a}"), "given twice"),
        (("--vary", "envs=1,2"), "no program to run"),
        (("--vary", "envs=1,2", "--", "none.py", "{envs}"), "none.py: no such program"),
        (("--vary", "p=a,b", "--expect", "linear", "--", "train.py", "{p}"), "--expect needs"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    hotloop: Hotloop, program: Path, arguments: tuple[str, ...], says: str
) -> None:
    result = hotloop("sweep", *arguments)
    check_refused(result, says)


LEARNER = """
import sys

class Task:
    def __init__(self, rate):
        self.rate, self.total = rate, 0
    def reset(self):
        self.t = 0
        return 0
    def step(self, action):
        self.t, self.total = self.t + 1, self.total + 1
        busy = sum(range(200))
        return 0, min(self.rate * self.total, 18_000) / 18_000, self.t == 5, {}

task = Task(int(sys.argv[1]))
task.reset()
for _ in range(20_000):
    _, reward, done, _ = task.step(int(sys.argv[2]))
    if done:
        task.reset()
"""


def test_a_sweep_to_a_return_finds_the_soonest_setting(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(LEARNER)
    words = ("--vary", "rate=0,1,50", "--to-return", "4", "--seeds", "2", "--format", "json")
    result = hotloop("sweep", *words, "--", "learn.py", "{rate}", "{seed}")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["schema"] == "hotloop.soonest/1"
    assert document["names"] == ["rate=0", "rate=1", "rate=50"]
    assert document["names"][document["best"]] == "rate=50"
    reached = [sum(each["reached"] for each in side) for side in document["attempts"]]
    assert reached == [0, 2, 2]
    assert document["sooner"][2] is None
    wrong = hotloop("sweep", "--vary", "rate=1,2", "--seeds", "2", "--", "learn.py", "{rate}")
    assert "--seeds needs --to-return" in wrong.stderr
