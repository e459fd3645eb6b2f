"""`hotloop investigate`: plans tried, cut short, resumed and drafted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from real_runs import Hotloop, check_refused

from hotloop.measure.core import NATIVE

pytest.importorskip("scipy")
pytest.importorskip("tomllib", reason="Python 3.10 needs tomli")

pytestmark = pytest.mark.programs

PressCtrlC = Callable[..., tuple[str, str]]

PLAN = """
[baseline]
command = "train.py --env-ms 6 --learn-ms 6 --steps 15"
pairs = 4
warm_up = 0

[goal]
minimum = "1.3x"
stretch = "50x"

[[hypothesis]]
name = "fast environment"
claim = "the simulator is slow"
arguments = "--env-ms 0.5"
expected = "1.4-2.5x"
confidence = "high"

[[hypothesis]]
name = "magic"
claim = "an environment variable | helps <a lot>"
environment = { MAGIC = "1" }
expected = "10-20x"
confidence = "low"
"""

PATCH = """\
--- a/train.py
+++ b/train.py
@@ -20,5 +20,5 @@
 @profile_function("learn")
 def learn():
-    time.sleep(options.learn_ms / 1000)
+    time.sleep(options.learn_ms / 10000)
     count("gradient_steps")
{blank}
""".replace("{blank}", " ")  # a line of context that is empty but for its mark

MORE = """
[[hypothesis]]
name = "cheap learning"
claim = "learning can be ten times cheaper"
patch = "learn.patch"
expected = "1.4-2.5x"
confidence = "medium"

[[hypothesis]]
name = "without learning"
claim = "learning is half of it"
skip = "learn"
expected = "1.5-3x"
confidence = "low"

[[hypothesis]]
name = "what is not there"
claim = "a phase that this program has not"
skip = "render"
expected = "2x"
confidence = "low"
"""


def test_a_plan_is_tried_and_a_record_is_left(hotloop: Hotloop, program: Path) -> None:
    (program / "plan.toml").write_text(PLAN + MORE)
    (program / "learn.patch").write_text(PATCH)
    original = (program / "train.py").read_text()
    result = hotloop("investigate", "plan.toml", "--format", "json", "--folder", "work")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["schema"] == "hotloop.investigate/1"
    verdicts = {h["name"]: h["verdict"] for h in document["hypotheses"]}
    assert verdicts == {
        "fast environment": "confirmed",
        "cheap learning": "confirmed",
        "without learning": "a ceiling",
        "magic": "refuted",
        "what is not there": "could not be tried",
    }
    assert document["hypotheses"][0]["name"] == "fast environment"  # likeliest first
    assert document["together"]["of"] == ["fast environment", "cheap learning"]
    assert "without learning" in document["together"]["left_out"]
    assert document["together"]["comparison"]["ratio"]["estimate"] > 2
    assert document["goal"]["minimum_met"] == "met"
    assert document["goal"]["stretch_met"] == "not met"
    assert (program / "train.py").read_text() == original
    record = (program / "work" / "record.md").read_text()
    assert "| fast environment | 1.4-2.5x | high |" in record
    assert "The minimum goal of 1.3x: met." in record
    assert "helps &lt;a lot" in record
    assert "changes the training" in record
    # What is done is not done again: a page of it takes no time.
    again = hotloop("investigate", "--resume", "work", "-o", "investigate.html")
    assert again.returncode == 0, again.stderr
    assert "The minimum goal of 1.3x: met." in again.stdout
    assert "The minimum goal of 1.3x: met." in (program / "investigate.html").read_text()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_what_was_cut_short_goes_on(
    hotloop: Hotloop, program: Path, press_ctrl_c: PressCtrlC
) -> None:
    (program / "plan.toml").write_text(PLAN)
    output, _ = press_ctrl_c("investigate", "plan.toml", when="magic")
    assert "fast environment" in output
    assert "Interrupted" in output
    (first,) = program.glob("runs/hotloop/investigate-*/01-fast-environment/pair-01/a.json")
    made = first.stat().st_mtime_ns
    result = hotloop("investigate", "--resume", "--format", "json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [h["verdict"] for h in document["hypotheses"]] == ["confirmed", "refuted"]
    assert first.stat().st_mtime_ns == made  # what was done is not done again


def test_a_baseline_that_fails_ends_it(hotloop: Hotloop, program: Path) -> None:
    (program / "plan.toml").write_text(PLAN.replace("--steps 15", "--fail"))
    result = hotloop("investigate", "plan.toml")
    assert result.returncode == 2
    assert "baseline" in result.stderr
    assert "loss is nan" in result.stderr
    assert "Traceback" not in result.stderr.partition("its last lines were")[0]


PARALLEL = """
import threading, time
from hotloop import count, profile, profile_function

@profile_function("prefetch")
def prefetch():
    time.sleep(0.001)

@profile_function("env.step")
def step():
    time.sleep(0.002)
    count("env_steps")

for number in range(25):
    behind = threading.Thread(target=prefetch)
    behind.start()
    with profile("learn"):
        time.sleep(0.012)
    behind.join()
    step()
"""

SLOW = """
[baseline]
command = "parallel.py"

[[hypothesis]]
name = "environment"
claim = "nothing hides the environment"
slow = { phase = "env.step", by = ["3ms", "6ms"] }
expected = "critical"

[[hypothesis]]
name = "prefetch"
claim = "the next batch is fetched while the network learns"
slow = "prefetch=5ms"
expected = "hidden"
"""


def test_how_much_a_phase_matters(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "parallel.py").write_text(PARALLEL)
    (tmp_path / "plan.toml").write_text(SLOW)
    result = hotloop("investigate", "plan.toml", "--format", "json")
    assert result.returncode == 0, result.stderr
    tried = {h["name"]: h for h in json.loads(result.stdout)["hypotheses"]}
    assert tried["environment"]["verdict"] == "confirmed"
    assert tried["environment"]["measured"]["estimate"] == pytest.approx(1.0, abs=0.2)
    assert tried["prefetch"]["verdict"] == "confirmed"
    assert tried["prefetch"]["measured"]["estimate"] == pytest.approx(0.0, abs=0.2)
    assert tried["prefetch"]["changes_training"] is True


def test_a_draft_can_be_tried(hotloop: Hotloop, program: Path) -> None:
    assert hotloop("run", "-q", "-o", "capture", "train.py", "--learn-ms", "8").returncode == 0
    result = hotloop("investigate", "--from", "capture", "-o", "plan.toml")
    assert result.returncode == 0, result.stderr
    text = (program / "plan.toml").read_text()
    assert 'skip = "learn"' in text
    assert hotloop("investigate", "--from", "capture").stdout == text
    again = hotloop("investigate", "--from", "capture", "-o", "plan.toml")
    assert (again.returncode, "already exists" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "no plan"),
        (("missing.toml",), "cannot be read"),
        (("--resume",), "no investigation below"),
        (("--resume", "nowhere"), "no investigation to resume"),
        (("--from", "nowhere"), "no such capture"),
        (("bad.toml",), "bad.toml, line 3: steps"),
    ],
)
def test_mistakes_are_one_line(
    hotloop: Hotloop, program: Path, arguments: tuple[str, ...], says: str
) -> None:
    (program / "bad.toml").write_text(
        '[baseline]\ncommand = "train.py"\nsteps = "many"\n[[hypothesis]]\n'
        'name = "a"\nclaim = "b"\nskip = "learn"\nexpected = "2x"\n'
    )
    result = hotloop("investigate", *arguments)
    check_refused(result, says)


LEARNER = """
import sys
gain, steps = float(sys.argv[-1]), 0

class Env:
    def reset(self):
        self.steps = 0
        return 0.0
    def step(self, action):
        self.steps += 1
        return 0.0, action, self.steps >= 5, {}

env = Env()
for episode in range(3000):
    env.reset()
    done = False
    while not done:
        _, _, done, _ = env.step(gain * episode)
"""

TO_RETURN = """
[baseline]
command = "learn.py {seed} 0.0005"

[goal]
to_return = 5
seeds = 2

[[hypothesis]]
name = "high gain"
claim = "it learns a hundred times as fast"
arguments = "0.05"
expected = "5x"

[[hypothesis]]
name = "patched"
claim = "it never learns"
patch = "learn.patch"
expected = "2x"

[[hypothesis]]
name = "no environment"
claim = "the environment is all there is"
skip = "env.step"
expected = ">2x"
"""

NEVER = """\
--- a/learn.py
+++ b/learn.py
@@ -2,2 +2,2 @@
 import sys
-gain, steps = float(sys.argv[-1]), 0
+gain, steps = 0.0, 0
"""


@pytest.mark.skipif(not NATIVE, reason="returns are added up by the native module")
def test_a_plan_may_ask_for_the_soonest_return(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(LEARNER)
    (tmp_path / "learn.patch").write_text(NEVER)
    (tmp_path / "plan.toml").write_text(TO_RETURN)
    words = ("investigate", "plan.toml", "--format", "json")
    result = hotloop(*words, "--folder", "work")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["schema"] == "hotloop.soonest/1"
    assert document["names"] == ["baseline", "high gain", "patched"]
    assert document["names"][document["best"]] == "high gain"
    reached = [sum(each["reached"] for each in side) for side in document["attempts"]]
    assert reached == [2, 2, 0]
    assert any("no environment" in note for note in document["notes"])
    # A result that was cut short is continued: what is done is not run again.
    again = hotloop("investigate", "--resume", "work", "--format", "json")
    assert json.loads(again.stdout)["attempts"] == document["attempts"]


def test_a_goal_is_a_speed_or_a_return(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(LEARNER)
    (tmp_path / "learn.patch").write_text(NEVER)
    plan = tmp_path / "plan.toml"
    for wrong, said in (
        (TO_RETURN.replace("to_return = 5", 'to_return = "soon"'), "line 6: to_return"),
        (TO_RETURN.replace("to_return = 5", 'to_return = 5\nminimum = "2x"'), "line 7: minimum"),
        (TO_RETURN.replace("to_return = 5\n", ""), "line 6: seeds"),
        (TO_RETURN.replace("seeds = 2", "seeds = 0"), "line 7: seeds"),
        (TO_RETURN.replace('"patched"', '"baseline"'), "unchanged program"),
    ):
        plan.write_text(wrong)
        result = hotloop("investigate", "plan.toml")
        check_refused(result, said)
    plan.write_text(PLAN)
    result = hotloop("investigate", "plan.toml", "--seeds", "3")
    assert "--seeds needs --to-return" in result.stderr
