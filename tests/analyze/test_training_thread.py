"""The thread that trains is the run, whichever it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


def delta(calls: int, self_s: float) -> PhaseDelta:
    return PhaseDelta(calls, round(self_s * S), round(self_s * S))


def run_of(loop: dict[str, PhaseDelta], samples: dict[tuple[str, int, int], list[int]]) -> Capture:
    """Two seconds of start-up, then eight of what is given."""
    windows = [
        Window(0, 0, 0, 2 * S, {"": delta(0, 0.5), "import": delta(1, 1.5)}),
        Window(1, 1, 2 * S, 10 * S, loop, samples=samples, loop_last_ns=10 * S),
    ]
    stacks = {
        1: StackRow(1, 0, "train.py", "train", 1, 5),
        2: StackRow(2, 0, "gui.py", "show", 1, 9),
    }
    return Capture(Path("run"), [Shard("main", {"role": "main"}, {}, windows, stacks)])


IN_A_THREAD = {
    "": delta(0, 7.9),
    "policy.act": delta(3, 0.1),
    "@thread-2": delta(0, 1.0),
    "@thread-2/collect/env.step": delta(10, 5.0),
    "@thread-2/learn.backward": delta(10, 2.0),
    "@thread-3/log": delta(1, 1.0),
}


def test_a_loop_in_another_thread_is_the_loop() -> None:
    seen = {("", 2, 2): [9, 8 * S], ("@thread-2/learn.backward", 1, 3): [9, 2 * S]}
    analysis = analyze(run_of(IN_A_THREAD, seen))
    own = {phase.path: phase.total_s for phase in analysis.phases if phase.thread == "main"}
    assert own["collect/env.step"] == pytest.approx(5)
    assert own["learn.backward"] == pytest.approx(2)
    assert analysis.coverage == pytest.approx(7 / 8)
    assert analysis.functions[0].file == "train.py"
    beside = {(phase.thread, phase.name) for phase in analysis.phases if phase.thread != "main"}
    assert beside == {("thread-2", "policy.act"), ("thread-3", "log")}
    assert [phase.name for phase in analysis.startup] == ["import"]


@pytest.mark.parametrize("mains", ["env.step", "learn.backward", "collect"])
def test_a_main_thread_that_trains_stays_the_loop(mains: str) -> None:
    # An actor in a thread of its own, and a learner in the main one, or the other way round.
    analysis = analyze(run_of({**IN_A_THREAD, mains: delta(5, 0.5)}, {}))
    assert {p.name for p in analysis.phases if p.thread == "main"} == {mains, "policy.act"}
