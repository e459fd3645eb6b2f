"""Whether two commands learn the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from analyses import Make

from hotloop.analyze.over_time.returns import ReturnPoint, RunReturns
from hotloop.capture.episodes import EpisodeDelta
from hotloop.experiment.same_learning import SameLearning

WEIGHTS = {"tensors": 2, "digest": "abc", "norm": 1.0, "sketch": [0.5, 0.5]}


def run(make: Make, steps: int, returned: float, **weights: Any) -> Any:
    notes = {"weights": WEIGHTS | weights}
    analysis = make(notes=notes, env_steps=steps, gradient_steps=10)
    ended = EpisodeDelta(episodes=1, sum=returned)
    analysis.returns = RunReturns(points=[ReturnPoint(1.0, 100.0, 10.0, ended)])
    return SimpleNamespace(analysis=analysis)


def test_weights_are_compared_after_equal_steps(make: Make) -> None:
    same = SameLearning()
    same.see(run(make, 100, 1.0), run(make, 100, 1.0))
    assert same.notes() == ["Learning: same weights after equal steps (1 pairs, warm-up included)."]
    same.see(run(make, 100, 1.0), run(make, 100, 1.0, digest="other", sketch=[9.0, 9.0]))
    assert "weights differ after equal steps (2 pairs" in same.notes()[0]


def test_otherwise_the_returns_are(make: Make) -> None:
    learning = SameLearning()
    assert learning.notes() == []
    learning.see(run(make, 100, 10.0), run(make, 200, 30.0))
    assert "mean return 10 and 30 after equal steps, over 1 pairs" in learning.notes()[0]
