"""Limits: broken only beyond doubt; noise and contention make it "cannot tell" or nothing."""

from __future__ import annotations

import random

import pytest
from made_captures import analysis_of, made_shard

from hotloop.analyze.comparing.limits import (
    BROKEN,
    KEPT,
    UNKNOWN,
    check_phase,
    check_shares,
    check_speed,
)
from hotloop.analyze.comparing.unpaired import compare_captures
from hotloop.analyze.model import Analysis
from hotloop.analyze.processes.contention import Contention
from hotloop.capture.window import PhaseDelta, Window

pytest.importorskip("scipy")

WINDOW_S = 0.2


def run(
    step_s: float = 0.001, log: float = 0.05, noise: float = 0.02, windows: int = 20, seed: int = 1
) -> Analysis:
    """A training whose steps take so long, a share of it in `log`."""
    chance = random.Random(seed)
    made = []
    for at in range(windows):
        begin, ns = int(at * WINDOW_S * 1e9), int(WINDOW_S * 1e9)
        logged = int(ns * log * chance.gauss(1, noise))
        window = Window(at, at, begin, begin + ns, loop_last_ns=begin + ns)
        window.phases = {
            "env.step": PhaseDelta(10, ns - logged, ns - logged, 1, ns, 0, begin + 1, begin + ns),
            "log": PhaseDelta(10, logged, logged, 1, ns, 0, begin + 1, begin + ns),
        }
        window.counters = {"env_steps": WINDOW_S / step_s * chance.gauss(1, noise)}
        made.append(window)
    return analysis_of(made_shard("main", {"started": 1000.0}, {}, made))


@pytest.mark.parametrize(
    ("log", "noise", "verdict"),
    [(0.02, 0.02, KEPT), (0.20, 0.02, BROKEN), (0.051, 0.3, UNKNOWN), (0.0, 0.0, KEPT)],
)
def test_shares(log: float, noise: float, verdict: str) -> None:
    (check,) = check_shares(run(log=log, noise=noise), {"log": 0.05})
    assert check.verdict == verdict
    assert check.value == pytest.approx(log, rel=0.3)
    if check.low is not None and check.high is not None:
        assert check.low <= log <= check.high


def test_a_short_run_says_nothing() -> None:
    (check,) = check_shares(run(log=0.9, windows=4), {"log": 0.05})
    assert check.verdict == UNKNOWN
    assert "too short" in check.why


def test_false_alarms_are_rare() -> None:
    """Runs right at the limit: about one in fifty is called broken, never more than promised."""
    seeds = range(100)
    broken = [check_shares(run(noise=0.1, seed=s), {"log": 0.05})[0].verdict for s in seeds]
    assert broken.count(BROKEN) <= 6


@pytest.mark.parametrize(
    ("step_s", "noise", "verdict"),
    [(0.001, 0.01, KEPT), (0.0009, 0.01, KEPT), (0.002, 0.02, BROKEN), (0.00112, 0.1, UNKNOWN)],
)
def test_speed(step_s: float, noise: float, verdict: str) -> None:
    comparison = compare_captures(run(noise=noise), run(step_s, noise=noise, seed=2))
    check = check_speed(comparison, 0.85)
    assert check.verdict == verdict
    assert check.value == pytest.approx(0.001 / step_s, rel=0.1)
    phase = check_phase(comparison, "env.step", 1 / 0.85)
    assert phase.verdict == verdict
    assert phase.value == pytest.approx(step_s / 0.001, rel=0.1)


def test_time_that_others_took_is_not_the_trainings() -> None:
    """Half as many steps, because another program had the core half of the time."""
    waiting = Contention([(1000.0, 0.0), (1004.0, 2.0)], due_to_others=1.0)
    comparison = compare_captures(run(), run(0.002, seed=2), contentions=(None, waiting))
    assert check_speed(comparison, 0.9).verdict == KEPT
    assert check_speed(compare_captures(run(), run(0.002, seed=2)), 0.9).verdict == BROKEN


def test_a_phase_of_neither_run_keeps_its_limit() -> None:
    check = check_phase(compare_captures(run(), run(seed=2)), "learn", 1.2)
    assert (check.verdict, check.why) == (KEPT, "in neither run")
