"""Phases that are skipped and slowed without an edit, in real runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from real_runs import Hotloop

from hotloop.errors import HotloopError
from hotloop.hooks.alter import Amount, check, parse_amount

pytestmark = pytest.mark.programs

OWN = """
from hotloop import count, profile, profile_function
calls = {"step": 0, "learn": 0}

class Env:
    @profile_function("env.step")
    def step(self, action):
        calls["step"] += 1
        return self.inner(action)

    @profile_function("env.step")
    def inner(self, action):
        return action, calls["step"]

@profile_function("learn")
def learn():
    calls["learn"] += 1
    return calls["learn"]

env = Env()
results = []
for number in range(30):
    with profile("collect"):
        results.append(env.step(number))
        count("env_steps")
    results.append(learn())
print(calls["step"], calls["learn"], results[-2:])
"""

TORCH = """
import torch
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(network.parameters())
before = [p.clone() for p in network.parameters()]
for number in range(40):
    with torch.no_grad():
        network(torch.randn(1, 4))
    loss = network(torch.randn(32, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(sum(float((a - b).abs().sum()) for a, b in zip(before, network.parameters())))
"""

GYM = """
import gymnasium
env = gymnasium.make("CartPole-v1")
env.reset(seed=0)
seen = set()
for number in range(50):
    observation, reward, terminated, truncated, info = env.step(number % 2)
    seen.add(tuple(observation))
    if terminated or truncated:
        env.reset()
print(len(seen))
"""


def altered(folder: Path) -> dict[str, Any]:
    notes: dict[str, Any] = {}
    for line in (folder / "main.jsonl").read_text().splitlines():
        notes.update(json.loads(line).get("n", {}))
    return notes["altered"]  # type: ignore[no-any-return]


def run_program(hotloop: Hotloop, folder: Path, source: str, *options: str) -> str:
    (folder / "program.py").write_text(source)
    result = hotloop("run", "-q", "-o", "capture", *options, "program.py")
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_skipped_phase_runs_once_and_repeats_its_result(hotloop: Hotloop, tmp_path: Path) -> None:
    output = run_program(hotloop, tmp_path, OWN, "--skip", "learn")
    assert output == "30 1 [(29, 30), 1]\n"
    assert altered(tmp_path / "capture")["skip"] == {"learn": {"calls": 29}}


def test_a_phase_that_runs_every_third_time(hotloop: Hotloop, tmp_path: Path) -> None:
    run_program(hotloop, tmp_path, OWN, "--every", "learn=3")
    assert altered(tmp_path / "capture")["skip"] == {"learn": {"calls": 20}}


NEW_OBJECTS = """
from hotloop import profile_function

saved = []

@profile_function("checkpoint")
def save(state):
    saved.append(state["step"])

for step in range(30):
    save({"step": step, "weights": [0.0] * 10})
print(saved)
"""


def test_every_tenth_call_though_each_is_about_a_new_object(
    hotloop: Hotloop, tmp_path: Path
) -> None:
    output = run_program(hotloop, tmp_path, NEW_OBJECTS, "--every", "checkpoint=10")
    assert output == "[0, 10, 20]\n"


def test_a_skipped_method_is_skipped_for_each_object(hotloop: Hotloop, tmp_path: Path) -> None:
    output = run_program(hotloop, tmp_path, OWN, "--skip", "env.step")
    assert output == "1 30 [(0, 1), 30]\n"


@pytest.mark.real_time
def test_a_slowed_phase_is_slower_by_what_was_asked(hotloop: Hotloop, tmp_path: Path) -> None:
    output = run_program(hotloop, tmp_path, OWN, "--slow", "env.step=2ms", "--slow", "collect=1ms")
    assert output == "30 30 [(29, 30), 30]\n"  # nothing else is different
    slow = altered(tmp_path / "capture")["slow"]
    # The step inside a step is the same step: 30 delays, not 60.
    assert slow["env.step"] == {"by": "2ms", "calls": 30, "added_s": pytest.approx(0.06)}
    assert slow["collect"] == {"by": "1ms", "calls": 30, "added_s": pytest.approx(0.03)}
    document = json.loads(hotloop("report", "capture", "--format", "json").stdout)
    phases = {phase["path"]: phase for phase in document["phases"]}
    assert phases["collect/env.step"]["total_s"] >= 0.055
    assert phases["collect"]["self_s"] >= 0.025
    assert phases["learn"]["total_s"] < 0.055
    assert document["run"]["counters"]["altered_delay_us"] == pytest.approx(90_000)


def test_a_share_of_each_call(hotloop: Hotloop, tmp_path: Path) -> None:
    source = "import time\n" + OWN.replace(
        'calls["learn"] += 1', 'calls["learn"] += 1; time.sleep(0.004)'
    )
    run_program(hotloop, tmp_path, source, "--slow", "learn=50%")
    assert altered(tmp_path / "capture")["slow"]["learn"]["added_s"] >= 30 * 0.002


def test_nothing_to_skip_is_told(hotloop: Hotloop, tmp_path: Path) -> None:
    run_program(hotloop, tmp_path, OWN, "--skip", "collect")  # a `with` block has no function
    assert altered(tmp_path / "capture")["skip"] == {"collect": {"calls": 0}}


def test_without_an_optimizer_nothing_is_learned(hotloop: Hotloop, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    moved = float(run_program(hotloop, tmp_path, TORCH))
    assert moved > 0.1
    (tmp_path / "capture").rename(tmp_path / "before")
    skipped = float(run_program(hotloop, tmp_path, TORCH, "--skip", "learn.optimizer"))
    assert skipped < moved / 4
    assert altered(tmp_path / "capture")["skip"]["learn.optimizer"]["calls"] > 30


def test_a_backward_pass_is_skipped_though_each_loss_is_new(
    hotloop: Hotloop, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    run_program(hotloop, tmp_path, TORCH, "--skip", "learn.backward")
    assert altered(tmp_path / "capture")["skip"]["learn.backward"]["calls"] >= 30


def test_a_librarys_environment_is_skipped(hotloop: Hotloop, tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    assert int(run_program(hotloop, tmp_path, GYM)) > 40
    (tmp_path / "capture").rename(tmp_path / "before")
    assert int(run_program(hotloop, tmp_path, GYM, "--skip", "env.step")) == 1
    document = json.loads(hotloop("report", "capture", "--format", "json").stdout)
    assert document["run"]["env_steps"] == 50  # steps are counted all the same


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2ms", Amount(seconds=0.002)),
        ("500us", Amount(seconds=0.0005)),
        ("0.1s", Amount(seconds=0.1)),
        ("20%", Amount(share=0.2)),
    ],
)
def test_amounts(text: str, amount: Amount) -> None:
    assert parse_amount(text) == amount


@pytest.mark.parametrize("text", ["", "fast", "2", "-2ms", "2 minutes"])
def test_what_is_not_a_delay(text: str) -> None:
    with pytest.raises(HotloopError, match="not a delay"):
        parse_amount(text)


def test_what_is_wrong_is_said_before_anything_runs(hotloop: Hotloop, tmp_path: Path) -> None:
    for skip, slow in (([""], []), ([], ["env.step"]), ([], ["env.step=x"]), (["a"], ["a=1ms"])):
        with pytest.raises(HotloopError):
            check(skip, slow, [])
    for skip, every in (([], ["evaluate"]), ([], ["=3"]), ([], ["a=0"]), (["a"], ["a=2"])):
        with pytest.raises(HotloopError, match="--every"):
            check(skip, [], every)
    (tmp_path / "program.py").write_text("print('ran')")
    result = hotloop("run", "--slow", "env.step", "program.py")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("hotloop: --slow env.step: needs a phase and an amount")
