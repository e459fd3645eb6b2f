"""When comparisons stop, and how often they are wrong (`benchmarks/comparisons.py` has tables)."""

from __future__ import annotations

import math
import random

import pytest

from hotloop.analyze.comparing.compare import Figures
from hotloop.analyze.comparing.judgement import FASTER, SAME, SLOWER
from hotloop.analyze.comparing.sequential import MOST_PAIRS, PHASE_PAIRS, Rule
from hotloop.analyze.comparing.statistics import ALPHA, look_levels
from hotloop.experiment.order import pair_orders

pytest.importorskip("scipy")


def figures(seconds: float, **own: float) -> Figures:
    return Figures(seconds, own, own, {})


def pairs_of(n: int, effect: float, sd: float, seed: int = 0) -> list[tuple[Figures, Figures]]:
    chance = random.Random(seed)
    return [
        (figures(math.exp(chance.gauss(0, sd))), figures(math.exp(chance.gauss(effect, sd))))
        for _ in range(n)
    ]


def stop(rule: Rule, pairs: list[tuple[Figures, Figures]]) -> tuple[str, int]:
    for upto in rule.schedule:
        comparison = rule.verdict(pairs[:upto], "env_steps")
        if rule.enough(comparison):
            break
    return comparison.whole.verdict, comparison.pairs


def test_a_fixed_number_of_pairs_is_looked_at_once() -> None:
    assert Rule(pairs=7).schedule == [7]
    assert Rule(pairs=7).level(7) == ALPHA
    assert Rule(pairs=7).level(3) == ALPHA  # interrupted before any look


def test_a_large_effect_stops_early_and_a_small_one_does_not() -> None:
    early = stop(Rule(), pairs_of(MOST_PAIRS, math.log(2.0), 0.02))
    assert early == (SLOWER, PHASE_PAIRS)  # no phases here: it looks for one up to that many pairs
    assert stop(Rule(), pairs_of(MOST_PAIRS, 0.02, 0.05))[1] == MOST_PAIRS


def test_equal_sides_stop_when_that_is_shown() -> None:
    verdict, pairs = stop(Rule(), pairs_of(MOST_PAIRS, 0.0, 0.005))
    assert verdict == SAME
    assert pairs < MOST_PAIRS


def test_until_goes_on_after_the_margin_is_reached() -> None:
    noisy = pairs_of(60, 0.0, 0.02)
    assert stop(Rule(until=0.005), noisy)[1] > stop(Rule(), noisy)[1]


def test_a_named_phase_stops_a_clear_comparison() -> None:
    chance = random.Random(5)

    def side(env: float) -> Figures:
        env, act = (s * math.exp(chance.gauss(0, 0.01)) for s in (env, 1.0))
        return Figures(env + act, {"env.step": env, "policy.act": act}, {}, {})

    pairs = [(side(1.0), side(3.0)) for _ in range(MOST_PAIRS)]
    assert stop(Rule(), pairs) == (SLOWER, 4)
    assert Rule().verdict(pairs[:4], "env_steps").responsible == "env.step"


def test_levels_between_looks_come_from_the_same_purse() -> None:
    rule = Rule()
    assert sum(rule.level(n) for n in rule.schedule) == pytest.approx(ALPHA)
    # Cut short at 9: what was spent at 4 and 7, and what 9 may spend, is less than what 10 would.
    spent = look_levels([4, 7, 9, 20])
    assert rule.level(9) == pytest.approx(spent[2])
    assert rule.level(9) < rule.level(10)


def test_false_alarms_stay_rare_with_correlated_noise() -> None:
    chance = random.Random(11)
    orders = pair_orders(Rule().schedule)
    tries, false = 300, 0
    for _ in range(tries):
        values = [chance.gauss(0, 0.05)]
        while len(values) < 2 * MOST_PAIRS:
            values.append(0.5 * values[-1] + math.sqrt(0.75) * chance.gauss(0, 0.05))
        pairs = []
        for number, second_first in enumerate(orders):
            sides = [figures(math.exp(value)) for value in values[2 * number : 2 * number + 2]]
            first, second = reversed(sides) if second_first else sides
            pairs.append((first, second))
        false += stop(Rule(), pairs)[0] in (FASTER, SLOWER)
    assert false / tries <= 0.05
