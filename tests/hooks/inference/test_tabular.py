"""Tables of values that are used and changed inline, between two steps of an environment."""

from __future__ import annotations

from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from places import check_places

from hotloop.hooks.inference.tabular import changes_a_table

PROGRAMS = Path(__file__).parents[1] / "own_programs"


@pytest.mark.real_time
@pytest.mark.parametrize("name", ["tabular_inline", "sarsa_inline"])
def test_what_lies_between_two_steps_is_named(profile: Any, name: str) -> None:
    if name == "sarsa_inline":
        pytest.importorskip("gymnasium")
    run = profile(PROGRAMS / f"{name}.py")
    assert run.out == profile(PROGRAMS / f"{name}.py", hotloop=False).out
    run.check_accounted()
    assert {"agent", "env.step"} <= {p["name"] for p in run.phases}
    assert "learn" not in run.paths
    (note,) = run.report["notes"]
    assert f"{name}.py" in note
    hot = [f for f in run.report["functions"] if f["phase"] == "agent" and f["of_program"]]
    assert hot, "the lines of the loop are named"


#: A table that is changed inline; the step and the agent are kept busy as long as was asked.
PLACES = """
import json, random, sys, time

spent = {"env.step": 0.0, "agent": 0.0}


def busy(place, seconds):
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        pass
    spent[place] += time.perf_counter() - begin


class Corridor:
    def reset(self):
        self.at = 0
        return self.at

    def step(self, action):
        busy("env.step", float(sys.argv[1]))
        self.at = max(self.at + (1 if action else -1), 0)
        return self.at, -1.0, self.at == 10, {}


corridor, q, gamma = Corridor(), {}, 0.9
random.seed(0)
for episode in range(20):
    state, done = corridor.reset(), False
    while not done:
        action = int(random.random() < 0.7)
        following, reward, done, _ = corridor.step(action)
        busy("agent", float(sys.argv[2]))
        best = max(q.get((following, each), 0.0) for each in (0, 1))
        q[state, action] = reward + gamma * best
        state = following
print(json.dumps(spent))
"""


@pytest.mark.real_time
def test_time_that_is_added_is_found_in_its_phase(profile: Any) -> None:
    check_places(lambda seconds: profile(PLACES, *seconds), {"env.step": 0.002, "agent": 0.002})


RANDOM = """
import random
class Game:
    def reset(self): self.t = 0; return 0
    def step(self, action):
        self.t += 1
        return self.t, 1.0, self.t > 20
game = Game()
rewards = [0.0] * 30
for episode in range(200):
    game.reset()
    done = False
    while not done:
        state, reward, done = game.step(random.randrange(4))
        rewards[state] += reward
"""


def test_a_program_that_learns_nothing_has_no_agent(profile: Any) -> None:
    run = profile(RANDOM)
    assert run.calls("env.step") == 200 * 21
    assert "agent" not in run.paths, run.table()
    assert run.report["notes"] == []


def code_of(path: Path, source: str) -> CodeType:
    path.write_text(source)
    space: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), space)
    code: CodeType = space["train"].__code__
    return code


@pytest.mark.parametrize(
    ("body", "learns"),
    [
        ("q[s, a] += alpha * (r + gamma * q[s2].max() - q[s, a])", True),
        ("q[s][a] = (1 - alpha) * q[s][a] + alpha * reward", True),
        ("self.q[s, a] += lr * (reward - self.q.get((s, a), 0))", True),
        ("rewards[i] = reward; agent.learn(s, a, reward, gamma)", False),
        ("frames[i] += reward; print(frames[i])", False),
        ("def update(): q[s] += alpha * (reward - q[s])", False),
    ],
)
def test_what_changes_a_table(tmp_path: Path, body: str, learns: bool) -> None:
    source = f"def train(self, q, s, a, s2, r, i, reward, frames, alpha):\n    {body}\n"
    if "frames[i] +=" in body:
        source = source.replace(", alpha", "").replace(" q,", "")
    assert changes_a_table(code_of(tmp_path / "program.py", source)) == learns
