"""Verdicts on pairs and on captures: speed separated from work, the right phase named."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.comparing.compare import (
    Figures,
    compare_pairs,
    describe_work,
    figures,
    log_ratio,
    work_changes,
)
from hotloop.analyze.comparing.judgement import FASTER, NOT_COMPARABLE, SAME, SLOWER, UNKNOWN, judge
from hotloop.analyze.comparing.statistics import Paired
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.series import RunSeries
from hotloop.analyze.processes.contention import Contention
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.window import PhaseDelta, Window
from hotloop.capture.writer import ShardWriter

pytest.importorskip("scipy")

Pair = tuple[Figures, Figures]


def side(
    chance: random.Random, phases: dict[str, float], sd: float = 0.01, **work: float
) -> Figures:
    own = {name: s * math.exp(chance.gauss(0, sd)) for name, s in phases.items()}
    return Figures(sum(own.values()), own, dict(own), work)


def pairs_of(
    first: dict[str, float], second: dict[str, float], n: int = 10, sd: float = 0.01, **more: Any
) -> list[Pair]:
    chance = random.Random(4)
    works = more.get("work", ({"gradient_steps": 0.25}, {"gradient_steps": 0.25}))
    return [
        (side(chance, first, sd, **works[0]), side(chance, second, sd, **works[1]))
        for _ in range(n)
    ]


STEP = {"env.step": 3.0, "policy.act": 2.0, "learn": 1.0, "": 0.2}


def phases(comparison: Any) -> dict[str, str]:
    return {phase.name: phase.own.verdict for phase in comparison.phases}


# -- the five verdicts --


def test_faster_speaks_of_the_second() -> None:
    comparison = compare_pairs(pairs_of(STEP, {**STEP, "env.step": 1.0}), "env_steps")
    assert comparison.whole.verdict == FASTER
    assert comparison.whole.estimate == pytest.approx(6.2 / 4.2, rel=0.05)
    assert comparison.responsible == "env.step"
    assert phases(comparison)["env.step"] == FASTER
    assert phases(comparison)["policy.act"] != FASTER


def test_slower() -> None:
    comparison = compare_pairs(pairs_of(STEP, {**STEP, "policy.act": 3.0}), "env_steps")
    assert comparison.whole.verdict == SLOWER
    assert comparison.whole.high is not None
    assert comparison.whole.high < 1
    assert comparison.responsible == "policy.act"


def test_no_difference_says_within_what() -> None:
    comparison = compare_pairs(pairs_of(STEP, STEP), "env_steps")
    assert comparison.whole.verdict == SAME
    assert comparison.whole.within is not None
    assert 0 < comparison.whole.within < 0.05
    assert comparison.responsible is None


def test_cannot_tell_says_how_many_more_pairs() -> None:
    comparison = compare_pairs(pairs_of(STEP, STEP, n=6, sd=0.3), "env_steps")
    assert comparison.whole.verdict == UNKNOWN
    assert comparison.whole.more_pairs
    assert comparison.whole.width


def test_one_pair_cannot_tell() -> None:
    comparison = compare_pairs(pairs_of(STEP, {**STEP, "env.step": 30.0}, n=1), "env_steps")
    assert comparison.whole.verdict == UNKNOWN
    assert comparison.whole.low is None
    assert comparison.whole.high is None


def test_no_pair_is_not_comparable() -> None:
    comparison = compare_pairs([], "env_steps")
    assert comparison.whole.verdict == NOT_COMPARABLE
    assert comparison.phases == []


def test_a_run_without_time_is_left_out() -> None:
    pairs = pairs_of(STEP, STEP)
    pairs[0] = (replace(pairs[0][0], seconds=0.0), pairs[0][1])
    pairs[1] = (pairs[1][0], replace(pairs[1][1], seconds=math.nan))
    assert compare_pairs(pairs, "env_steps").whole.n == 8
    assert math.isnan(log_ratio(0.0, 1.0))


def test_a_wide_margin_makes_more_things_the_same() -> None:
    paired = Paired([0.0, 0.03, -0.03, 0.02, -0.02, 0.01, -0.01, 0.0])
    assert judge(paired, 0.04, margin=0.01).verdict == UNKNOWN
    assert judge(paired, 0.04, margin=0.05).verdict == SAME


# -- phases --


def test_phases_are_judged_by_their_own_time() -> None:
    chance = random.Random(2)

    def run(env: float) -> Figures:
        own = {
            name: s * math.exp(chance.gauss(0, 0.01))
            for name, s in {"collect": 0.5, "env.step": env, "learn": 1.0}.items()
        }
        total = {**own, "collect": own["collect"] + own["env.step"]}
        return Figures(sum(own.values()), own, total, {})

    comparison = compare_pairs([(run(1.0), run(2.0)) for _ in range(10)], "env_steps")
    collect = next(phase for phase in comparison.phases if phase.name == "collect")
    assert collect.own.verdict != SLOWER
    assert collect.total is not None
    assert collect.total.verdict == SLOWER
    assert comparison.responsible == "env.step"


def test_a_phase_that_only_one_side_has() -> None:
    comparison = compare_pairs(pairs_of(STEP, {**STEP, "log": 4.0}), "env_steps")
    log = next(phase for phase in comparison.phases if phase.name == "log")
    assert (log.own.verdict, log.own.why) == (NOT_COMPARABLE, "only in the second")
    assert comparison.responsible == "log"


def test_a_phase_that_is_too_small_to_judge() -> None:
    comparison = compare_pairs(pairs_of({**STEP, "log": 0.001}, {**STEP, "log": 0.01}), "env_steps")
    log = next(phase for phase in comparison.phases if phase.name == "log")
    assert log.own.why.startswith("below")


def test_a_phase_that_is_not_in_every_run() -> None:
    pairs = pairs_of({**STEP, "checkpoint": 1.0}, {**STEP, "checkpoint": 1.0})
    del pairs[3][0].own["checkpoint"]
    comparison = compare_pairs(pairs, "env_steps")
    checkpoint = next(phase for phase in comparison.phases if phase.name == "checkpoint")
    assert checkpoint.own.why == "not in every run"


def test_looking_at_many_phases_raises_no_false_alarm() -> None:
    many = {f"phase {n}": 1.0 for n in range(20)}
    chance = random.Random(8)
    alarms = 0
    for _ in range(100):
        pairs = [(side(chance, many, 0.05), side(chance, many, 0.05)) for _ in range(10)]
        verdicts = phases(compare_pairs(pairs, "env_steps")).values()
        alarms += any(verdict in (FASTER, SLOWER) for verdict in verdicts)
    assert alarms <= 8  # 4 of 100 on the average


# -- work --


def test_less_work_is_not_more_speed() -> None:
    half = {**STEP, "learn": 0.5}
    pairs = pairs_of(STEP, half, work=({"gradient_steps": 0.5}, {"gradient_steps": 0.25}))
    comparison = compare_pairs(pairs, "env_steps")
    assert comparison.whole.verdict == NOT_COMPARABLE
    assert "0.5 times the gradient steps per environment step" in comparison.whole.why
    assert comparison.whole.estimate is not None  # the figures are there all the same
    learn = next(phase for phase in comparison.phases if phase.name == "learn")
    assert learn.own.verdict == NOT_COMPARABLE
    assert learn.per_gradient_step is not None
    assert learn.per_gradient_step.verdict == SAME
    assert phases(comparison)["env.step"] == SAME


def test_less_work_that_is_meant_gets_its_verdict() -> None:
    tenth = {**STEP, "learn": 0.1}
    works = ({"gradient_steps": 0.5}, {"gradient_steps": 0.05})
    comparison = compare_pairs(pairs_of(STEP, tenth, work=works), "env_steps", any_work=True)
    assert comparison.whole.verdict == FASTER
    assert comparison.responsible == "learn"
    assert [change.counter for change in comparison.work] == ["gradient_steps"]


def test_fewer_rows_because_of_fewer_steps_are_one_change() -> None:
    fewer = ({"gradient_steps": 0.5, "samples": 64.0}, {"gradient_steps": 0.25, "samples": 32.0})
    smaller = ({"gradient_steps": 0.5, "samples": 64.0}, {"gradient_steps": 0.25, "samples": 8.0})
    changed = [
        [c.counter for c in work_changes(pairs_of(STEP, STEP, work=w))] for w in (fewer, smaller)
    ]
    assert changed == [["gradient_steps"], ["gradient_steps", "samples"]]


def test_no_gradient_steps_at_all_on_one_side() -> None:
    works: tuple[dict[str, float], dict[str, float]] = ({"gradient_steps": 0.5}, {})
    changes = work_changes(pairs_of(STEP, STEP, work=works))
    assert describe_work(changes[0], "env_steps") == (
        "the second makes no gradient steps per environment step"
    )


def test_episodes_that_end_earlier_are_told_but_not_refused() -> None:
    works = ({"episodes": 0.01}, {"episodes": 0.03})
    comparison = compare_pairs(pairs_of(STEP, STEP, work=works), "env_steps")
    assert comparison.whole.verdict == SAME
    assert [(c.counter, c.matters) for c in comparison.work] == [("episodes", False)]


def test_work_that_is_only_coarsely_known_is_not_a_change() -> None:
    works = ({"gradient_steps": 0.5}, {"gradient_steps": 0.4})
    exact = pairs_of(STEP, STEP, work=works)
    coarse = [tuple(replace(f, grain={"gradient_steps": 0.3}) for f in pair) for pair in exact]
    assert work_changes(exact)
    assert not work_changes(coarse)  # type: ignore[arg-type]


# -- portions of a run --


# -- other programs --


# -- two captures --


# -- the figures of one run --


def busy_run(
    tmp_path: Path, second: int = 10**9, startup_delay_s: float = 0.0, **gauges: float
) -> Analysis:
    """Four seconds of loop after six of start-up, 100 steps in each."""
    writer = ShardWriter(tmp_path, "main", {"role": "main", "functions": "off", "started": 1000.0})
    for number in range(4):
        begin = (6 + number) * second
        phases = {"env.step": PhaseDelta(100, second, second, 1, second)}
        window = Window(number, number, begin, begin + second, phases, {"env_steps": 100})
        window.gauges = {each: value * (number + 1) for each, value in gauges.items()}
        window.gauges |= {"startup_cpu_s": 0.0, "startup_delay_s": startup_delay_s}
        window.loop_last_ns = begin + second
        writer.window(window)
    writer.end({"reason": "exit", "code": 0})
    return analyze(read_capture(tmp_path))


def test_no_less_than_the_time_on_a_core_is_left(tmp_path: Path) -> None:
    """Waiting that is counted late may seem to be nearly all of a run."""
    analysis = busy_run(tmp_path, main_cpu_s=0.3)
    late = Contention([(1006.0, 0.0), (1010.0, 3.9)], due_to_others=1.0)
    found = figures(RunSeries(analysis), "env_steps", 400, analysis, late)
    assert found.waited == pytest.approx(0.7)
    assert found.seconds == pytest.approx(0.01 * 0.3)
    known = Contention([(1006.0, 0.0), (1010.0, 2.0)], due_to_others=1.0)
    found = figures(RunSeries(analysis), "env_steps", 400, analysis, known)
    assert found.waited == pytest.approx(0.5)


def test_a_whole_run_includes_its_start(tmp_path: Path) -> None:
    analysis = busy_run(tmp_path)
    series = RunSeries(analysis)
    assert figures(series, "env_steps", 400, analysis).seconds == pytest.approx(4 / 400)
    whole = figures(series, "env_steps", 400, analysis, of_run=True)
    assert whole.seconds == pytest.approx(10 / 400)


@pytest.mark.parametrize(("of_run", "waited_s", "whole_s"), [(False, 0.1, 0.2), (True, 0.2, 0.5)])
def test_a_short_run_waits_in_its_start_too(
    tmp_path: Path, of_run: bool, waited_s: float, whole_s: float
) -> None:
    analysis = busy_run(tmp_path, 5 * 10**7, startup_delay_s=0.1, main_delay_s=0.05)
    unread = Contention([(1000.0, 0.0), (1000.5, 0.0)], due_to_others=1.0)
    found = figures(RunSeries(analysis), "env_steps", 400, analysis, unread, of_run)
    share = 0.9 if not of_run else 1.0  # a loop's warm-up is left out
    assert found.waited == pytest.approx(waited_s * share / (whole_s * share))
