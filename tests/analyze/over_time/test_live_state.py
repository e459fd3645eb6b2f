"""The last seconds of a run."""

from __future__ import annotations

import pytest
from made_captures import S, capture, second

from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.live_state import live_state_of
from hotloop.capture.schema import End
from hotloop.phases import NO_PHASE_LABEL


def test_now_is_the_last_seconds() -> None:
    windows = [second(n, 10 if n < 50 else 40, env_step=0.5) for n in range(60)]
    windows[-1].loop_last_ns -= S // 10  # the next step has not come yet
    running = capture(windows)
    now = live_state_of(running, analyze(running))
    assert (now.state, now.in_loop) == ("running", True)
    assert now.steps_per_s == pytest.approx(40)
    assert now.mean_steps_per_s < 20
    assert now.elapsed_s == 60
    assert now.phases[0].name in ("env.step", NO_PHASE_LABEL)
    assert {p.name: p.recent for p in now.phases}["env.step"] == pytest.approx(0.5)
    assert len(now.curve) == 60
    assert now.memory_mb is not None
    assert live_state_of(running, analyze(running), killed=True).state == "killed"
    running.main.end = End()
    assert live_state_of(running, analyze(running), killed=True).state == "ended"


def test_now_while_starting_up_and_before() -> None:
    starting = capture([second(0, 0, False, data=0.9)])
    assert live_state_of(starting, analyze(starting)).steps_per_s == 0
    empty = capture([])
    now = live_state_of(empty, analyze(empty))
    assert (now.state, now.elapsed_s) == ("starting up", 0)
