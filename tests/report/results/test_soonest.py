"""Which setting reaches a return soonest, in words."""

from __future__ import annotations

import json
import math

from hotloop.analyze.comparing.soonest import Soonest
from hotloop.analyze.comparing.time_to_return import Attempt, Factor
from hotloop.report.console.terminal import Style
from hotloop.report.results.soonest import against, front, headline, render


def result(*seconds: float, reached: bool = True) -> Soonest:
    attempts = tuple([Attempt(1, each, 1000.0, reached, 100.0)] for each in seconds)
    names = tuple(f"envs={n}" for n in range(len(seconds)))
    return Soonest(names, names, 195.0, "runs/1", attempts, 1000.0)


def test_the_best_and_how_sure_that_is() -> None:
    made = result(20.0, 10.0, 30.0)
    made.best = 1
    made.sooner = [Factor(2.0, 1.5, 2.5), None, Factor(3.0, 0.5, 9.0)]
    assert headline(made) == "envs=1 reaches 195 soonest (median 10.0 s, 1 seed)."
    assert against(made) == (
        "It is 2 times (1.5 to 2.5) sooner than envs=0. 1 seed does not distinguish it from envs=2."
    )


def test_a_target_that_nobody_reaches() -> None:
    assert headline(result(9.0, reached=False)).startswith("No run reached a return of 195")
    assert headline(result()) == "Interrupted before the first round ended."


def test_settings_that_trade_speed_for_learning() -> None:
    made = result(1.0, 2.0, 3.0)
    assert front(made) == ""
    made.front = [0]
    assert front(made).startswith("envs=0 is best in both")
    made.front = [0, 2]
    assert "envs=0 and envs=2; every other setting is beaten in both" in front(made)
    made.front = [0, 1, 2]
    assert front(made).startswith("Every setting trades")


def test_json_has_no_infinity() -> None:
    made = result(1.0, 2.0)
    made.best, made.sooner = 0, [None, Factor(2.0, 1.1, math.inf)]
    document = json.loads(render(made, "json", Style()))
    assert document["sooner"][1]["high"] is None
    assert headline(made) in render(made, "text", Style())
