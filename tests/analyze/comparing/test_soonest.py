"""Which of several settings is soonest, and the Pareto front of speed and return."""

from __future__ import annotations

import pytest

from hotloop.analyze.comparing.soonest import Soonest, judge_all, pareto_front
from hotloop.analyze.comparing.time_to_return import Attempt
from hotloop.report.console.terminal import Style
from hotloop.report.results.soonest import render

pytest.importorskip("numpy")


def side(
    seconds: float, rate: float, reached: bool = True, after: float | None = 50.0
) -> list[Attempt]:
    """Eight seeds of a setting."""
    return [
        Attempt(n, seconds * (1 + n / 50), rate * seconds, reached, rate, after, after)
        for n in range(8)
    ]


def judged(*sides: list[Attempt]) -> Soonest:
    names = tuple(f"envs={n}" for n in range(len(sides)))
    result = Soonest(names, names, 100.0, "runs", sides, equal_steps=1000.0)
    judge_all(result)
    return result


def test_the_front_has_what_nothing_beats_in_both() -> None:
    assert pareto_front([(1.0, 9.0), (2.0, 5.0), (1.5, 4.0), (3.0, 1.0), (1.0, 9.0)]) == [
        0,
        1,
        3,
        4,
    ]


def test_the_soonest_setting_is_compared_with_each_other_one() -> None:
    result = judged(side(9.0, 100.0), side(3.0, 200.0, after=40.0), side(20.0, 50.0, reached=False))
    assert result.best == 1
    assert result.sooner[1] is None
    assert all(each.low > 1.0 for each in (result.sooner[0], result.sooner[2]) if each is not None)
    assert result.front == [0, 1]
    text = render(result, "text", Style())
    assert "envs=1 reaches 100 soonest" in text
    assert "Pareto front of steps/s and return after equal steps: envs=0 and envs=1" in text


def test_what_is_not_known_is_not_claimed() -> None:
    alike = judged(side(3.0, 100.0), side(3.0, 100.0, after=None))
    assert alike.returns[1] is None
    assert alike.front == []
    assert "8 seeds do not distinguish it from" in render(alike, "text", Style())
    never = judged(side(9.0, 1.0, reached=False), side(3.0, 1.0, reached=False))
    assert never.best is None
    assert "No run reached" in render(never, "json", Style())
