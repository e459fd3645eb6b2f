"""Verdicts on pairs and on captures: speed told from work, the right phase named."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.compare import (
    Figures,
    compare_pairs,
    describe_work,
    figures,
    log_ratio,
    work_changes,
)
from hotloop.analyze.contention import Contention, share_due_to_others
from hotloop.analyze.judgement import FASTER, NOT_COMPARABLE, SAME, SLOWER, UNKNOWN, judge
from hotloop.analyze.portion import Course, common_unit
from hotloop.analyze.statistics import Paired
from hotloop.analyze.unpaired import compare_captures, differences
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import PhaseDelta, Window

pytest.importorskip("scipy")

Pair = tuple[Figures, Figures]


def side(
    chance: random.Random, phases: dict[str, float], sd: float = 0.01, **work: float
) -> Figures:
    own = {name: s * math.exp(chance.gauss(0, sd)) for name, s in phases.items()}
    return Figures(sum(own.values()), own, dict(own), work, 1000.0)


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
        return Figures(sum(own.values()), own, total, {}, 1000.0)

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


def window(number: int, steps: float, env_ms: float, learn_ms: float = 0.0, **more: Any) -> Window:
    phases_of = {
        "": PhaseDelta(0, 0, 0),
        "collect": PhaseDelta(1, 0, int(env_ms * 1e6)),
        "collect/env.step": PhaseDelta(1, int(env_ms * 1e6), int(env_ms * 1e6)),
        "learn": PhaseDelta(1, int(learn_ms * 1e6), int(learn_ms * 1e6)),
    }
    begin = more.get("begin", number * 1_000_000_000)
    length = int((env_ms + learn_ms) * 1e6)
    counters = {"env_steps": steps, **more.get("counters", {})}
    made = Window(number, number, begin, begin + length, phases_of, counters)
    made.loop_last_ns = begin + length
    return made


def analysis_of(windows: list[Window], **header: Any) -> Any:
    shard = Shard("main", {"role": "main", "started": 1000.0, "host": "here", **header})
    shard.windows = windows
    shard.notes = header.get("notes", {})
    return analyze(Capture(Path("run"), [shard]))


def in_a_row(rates: list[tuple[float, float, float]]) -> list[Window]:
    windows, begin = [], 0
    for number, (steps, env_ms, learn_ms) in enumerate(rates):
        windows.append(window(number, steps, env_ms, learn_ms, begin=begin))
        begin = windows[-1].end_ns
    return windows


def test_a_portion_ends_where_the_steps_end() -> None:
    course = Course(analysis_of(in_a_row([(100, 1000, 0), (100, 3000, 1000)])))
    whole = course.portion("env_steps", 0, 200)
    assert whole.amounts.seconds == pytest.approx(5.0)
    half = course.portion("env_steps", 100, 150)
    assert half.amounts.seconds == pytest.approx(2.0)
    assert half.amounts.own["env.step"] == pytest.approx(1.5)
    assert half.amounts.total["collect"] == pytest.approx(1.5)
    assert (half.begin_s, half.end_s) == pytest.approx((1.0, 3.0))


def test_more_steps_than_a_run_made_are_all_its_steps() -> None:
    course = Course(analysis_of(in_a_row([(100, 1000, 0)])))
    assert course.portion("env_steps", 0, 1e9).amounts.seconds == pytest.approx(1.0)
    assert course.reached("env_steps") == 100
    assert course.reached("gradient_steps") == 0


def test_a_run_that_went_further_is_read_up_to_where_the_other_ended() -> None:
    # Steps get slower as a run goes on; the longer run is no slower for having gone further.
    rows = [(100.0, 1000.0 * (n + 1), 0.0) for n in range(6)]
    long, short = analysis_of(in_a_row(rows)), analysis_of(in_a_row(rows[:3]))
    sides = [figures(Course(each), "env_steps", 300, each) for each in (long, short)]
    assert sides[0].seconds == pytest.approx(sides[1].seconds)


def test_the_unit_is_the_best_that_both_count() -> None:
    steps = Course(analysis_of(in_a_row([(100, 1000, 0)])))
    offline = Course(
        analysis_of([window(0, 0, 1000, counters={"gradient_steps": 5, "iterations": 2})])
    )
    nothing = Course(analysis_of([window(0, 0, 1000)]))
    assert common_unit([steps, steps]) == "env_steps"
    assert common_unit([offline]) == "iterations"
    assert common_unit([steps, nothing]) is None
    assert common_unit([]) is None


# -- other programs --


def test_waiting_for_other_programs_is_taken_out() -> None:
    analysis = analysis_of(in_a_row([(100, 2000, 0)]))
    course = Course(analysis)
    busy = Contention([(1000.0, 0.0), (1002.0, 1.0)], due_to_others=1.0)
    plain = figures(course, "env_steps", 100, analysis)
    taken = figures(course, "env_steps", 100, analysis, busy)
    assert taken.seconds == pytest.approx(plain.seconds / 2)
    assert taken.own["env.step"] == pytest.approx(plain.own["env.step"] / 2)
    assert taken.waited == pytest.approx(0.5)


def test_a_run_that_seems_to_have_only_waited_still_took_time() -> None:
    analysis = analysis_of(in_a_row([(100, 2000, 0)]))
    busy = Contention([(1000.0, 0.0), (1002.0, 5.0)], due_to_others=1.0)
    taken = figures(Course(analysis), "env_steps", 100, analysis, busy)
    assert taken.seconds > 0
    assert taken.own["env.step"] > 0


def test_waiting_is_read_between_the_marks() -> None:
    contention = Contention([(10.0, 0.0), (11.0, 0.5), (12.0, 0.5)], 0.5)
    assert contention.waited(10.0, 10.5) == pytest.approx(0.125)
    assert contention.waited(0.0, 100.0) == pytest.approx(0.25)
    assert contention.waited(5.0, 5.0) == 0.0
    assert Contention().waited(0.0, 1.0) == 0.0


def test_a_program_that_waits_for_its_own_workers_waits_for_itself() -> None:
    alone = share_due_to_others(main_s=1.0, tree_s=1.0, machine_s=3.0, usable=1.0)
    workers = share_due_to_others(main_s=1.0, tree_s=5.0, machine_s=5.0, usable=1.0)
    both = share_due_to_others(main_s=1.0, tree_s=3.0, machine_s=5.0, usable=1.0)
    elsewhere = share_due_to_others(main_s=1.0, tree_s=3.0, machine_s=203.0, usable=0.01)
    assert (alone, workers, both, elsewhere) == (1.0, 0.0, 0.5, 0.5)


# -- two captures --


def capture(seconds_a_step: float, seed: int, windows: int = 60, **header: Any) -> Any:
    chance = random.Random(seed)
    rows = []
    for _ in range(windows):
        ms = 1000.0 * seconds_a_step * math.exp(chance.gauss(0, 0.02))
        rows.append((100.0, 100 * ms * 0.7, 100 * ms * 0.3))
    return analysis_of(in_a_row(rows), **header)


def test_captures_that_differ_a_lot() -> None:
    comparison = compare_captures(capture(0.02, 1), capture(0.01, 2))
    assert comparison.whole.verdict == FASTER
    assert comparison.whole.estimate == pytest.approx(2.0, rel=0.05)
    assert not comparison.interleaved


def test_captures_that_differ_by_less_than_runs_do() -> None:
    comparison = compare_captures(capture(0.010, 1), capture(0.0102, 2))
    assert comparison.whole.verdict in (UNKNOWN, SAME)
    assert comparison.whole.more_pairs is None


def test_captures_with_too_few_windows() -> None:
    comparison = compare_captures(capture(0.02, 1, windows=3), capture(0.01, 2))
    assert comparison.whole.verdict == UNKNOWN


def test_captures_without_steps() -> None:
    nothing = analysis_of([window(0, 0, 1000)])
    comparison = compare_captures(nothing, capture(0.01, 2))
    assert comparison.whole.verdict == NOT_COMPARABLE


def test_captures_of_unequal_length_are_compared_over_common_steps() -> None:
    comparison = compare_captures(capture(0.01, 1, windows=200), capture(0.01, 2, windows=40))
    assert comparison.whole.estimate == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("header", "what", "refuses"),
    [
        ({"notes": {"device": "cuda"}}, "device", True),
        ({"host": "elsewhere"}, "machine", True),
        ({"functions": "exact"}, "sampler settings", True),
        ({"functions": "off"}, "sampler settings", False),
        ({"python": "3.12"}, "Python", False),
        ({"notes": {"libraries": {"PyTorch": {"version": "2.1"}}}}, "PyTorch version", False),
        ({"notes": {"altered": {"skip": {"learn": {}}}}}, "training", True),
        ({"native": False}, "region clock", False),
    ],
)
def test_what_else_differs_is_flagged_or_refused(
    header: dict[str, Any], what: str, refuses: bool
) -> None:
    base: dict[str, Any] = {
        "functions": "samples",
        "python": "3.11",
        "native": True,
        "notes": {"device": "cpu", "libraries": {"PyTorch": {"version": "2.0"}}},
    }
    notes = {**base["notes"], **header.get("notes", {})}
    first, second = capture(0.01, 1, **base), capture(0.01, 2, **{**base, **header, "notes": notes})
    found = {difference.what: difference.refuses for difference in differences(first, second)}
    assert found == {what: refuses}
    comparison = compare_captures(first, second)
    if refuses:
        assert comparison.whole.verdict == NOT_COMPARABLE
        assert what in comparison.whole.why
    else:
        assert any(what in note for note in comparison.notes)


def test_the_number_of_environments_is_flagged() -> None:
    one = analysis_of([window(0, 1.0, 1000)])
    many = analysis_of([window(0, 256.0, 1000)])
    found = differences(one, many)
    assert [str(difference) for difference in found] == [
        "different number of environments: 1 and 256"
    ]
