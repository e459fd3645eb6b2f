"""Plans: what they may say, and what is said of those that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_plans import WHOLE, write

from hotloop.analyze.comparing.hypothesis import Expected
from hotloop.errors import HotloopError
from hotloop.experiment.plan import masked_plan, read_plan

pytest.importorskip("tomllib", reason="Python 3.10 needs tomli")


def test_a_whole_plan(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, WHOLE))
    assert str(plan.baseline) == "train.py --envs 256"
    assert (plan.stop_after, plan.timeout_s, plan.pairs) == ("20000steps", 600.0, 12)
    assert (plan.minimum, plan.stretch) == (5.0, 10.0)
    ratio, threads, learning, environment = plan.hypotheses
    assert ratio.change.arguments == ("--train-ratio", "4")
    assert ratio.change.without == ("--slow",)
    assert ratio.expected == Expected(10, 15)
    assert threads.change.environment == {"OMP_NUM_THREADS": "1"}
    assert threads.confidence == "medium"
    assert learning.change.skip == ("learn",)
    assert learning.change.is_experiment
    assert environment.change.slow == ("env.step", ("1ms", "2ms"))
    assert not ratio.change.is_experiment


def replaced(old: str, new: str) -> str:
    assert old in WHOLE
    return WHOLE.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (replaced("steps = 20000", "stepz = 20000"), 3, "did you mean steps?"),
        (replaced("steps = 20000", "steps = 0"), 3, "0 is not a whole number from 1"),
        (replaced("steps = 20000", 'stop_after = "soon"'), 3, "is not 60s, 2m"),
        (replaced('timeout = "10m"', 'timeout = "5steps"'), 4, "is not a time"),
        (replaced('command = "train.py --envs 256"\n', ""), 1, "lacks command"),
        (replaced('"train.py --envs 256"', "7"), 2, "7 is not text"),
        (replaced('minimum = "5x"', 'minimum = "much"'), 8, "is not a factor from 1"),
        (replaced('confidence = "high"', 'confidence = "sure"'), 17, "high, medium, low"),
        (replaced('claim = "threads fight"\n', ""), 19, "lacks claim"),
        (replaced("expected = 1.5", 'expected = "quick"'), 23, 'a gain: "2x"'),
        (replaced("expected = 1.5\n", ""), 19, "lacks expected"),
        (replaced('name = "threads"', 'name = "ratio"'), 20, "appears twice"),
        (replaced('skip = "learn"\n', ""), 25, "lacks one of arguments"),
        (replaced('expected = "hidden"', 'expected = "2x"'), 36, "one of critical, hidden"),
        (replaced('["1ms", "2ms"]', '["fast"]'), 35, "is not a delay"),
        (replaced('phase = "env.step", ', ""), 35, "write { phase"),
        (replaced('skip = "learn"', 'patch = "none.patch"'), 28, "no such file"),
        (replaced("[goal]", "[goals]"), 7, "did you mean goal?"),
        ('[baseline]\ncommand = "train.py"\n', 1, r"at least one \[\[hypothesis\]\]"),
    ],
)
def test_a_plan_that_is_wrong_names_the_line(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(HotloopError, match=says) as error:
        read_plan(path)
    assert f"line {line}:" in str(error.value)


def test_a_plan_that_is_no_toml(tmp_path: Path) -> None:
    with pytest.raises(HotloopError, match="line 1"):
        read_plan(write(tmp_path, "[baseline\n"))
    with pytest.raises(HotloopError, match="cannot be read"):
        read_plan(tmp_path / "missing.toml")


def test_a_stored_plan_holds_no_secret() -> None:
    text = """
[baseline]
command = "train.py --api-key hunter2hunter2 --lr 1e-3"  # mine
[[hypothesis]]
name = "logging"
environment = { WANDB_API_KEY = "0123456789", OMP_NUM_THREADS = "1" }
"""
    stored = masked_plan(text)
    assert "hunter2" not in stored
    assert "0123456789" not in stored
    assert "--lr 1e-3" in stored
    assert 'OMP_NUM_THREADS = "1"' in stored
    assert masked_plan(WHOLE).rstrip() == WHOLE.rstrip()
