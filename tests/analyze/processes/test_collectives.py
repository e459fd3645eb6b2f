"""Gradients that DDP reduces inside a backward pass become a phase of their own."""

from __future__ import annotations

import pytest
from made_captures import made_shard

from hotloop.analyze.processes.collectives import MOST_OF_A_PASS, separate_reductions
from hotloop.capture import schema
from hotloop.capture.reader import Shard
from hotloop.capture.window import PhaseDelta, Window

BACKWARD = "learn/learn.backward"


def shard(*windows: Window) -> Shard:
    return made_shard(windows=list(windows))


def window(number: int, backward_ns: int, waited_s: float, **phases: PhaseDelta) -> Window:
    deltas = {BACKWARD: PhaseDelta(10, backward_ns, backward_ns), **phases}
    counters = {schema.BACKWARD_COMM_S: waited_s} if waited_s else {}
    return Window(number, number, number * 10**9, (number + 1) * 10**9, deltas, counters)


def test_waiting_moves_into_a_phase_inside_the_backward_pass() -> None:
    # DDP's figure of one window stands for those around it: only the sum is right.
    found = separate_reductions(shard(window(0, 400, 3e-7), window(1, 200, 0.0))).windows
    assert [w.phases[BACKWARD].self_ns for w in found] == [200, 100]
    assert [w.phases[f"{BACKWARD}/comm"].self_ns for w in found] == [200, 100]
    assert [w.phases[BACKWARD].elapsed_ns for w in found] == [400, 200]
    assert found[0].phases[f"{BACKWARD}/comm"].calls == 10


def test_a_figure_above_all_passes_leaves_time_for_computing() -> None:
    found = separate_reductions(shard(window(0, 1000, 5.0))).windows[0]
    assert found.phases[f"{BACKWARD}/comm"].self_ns == pytest.approx(1000 * MOST_OF_A_PASS)


def test_other_threads_and_runs_without_ddp_stay_as_they_are() -> None:
    plain = shard(window(0, 1000, 0.0))
    assert separate_reductions(plain) is plain
    other = "@thread-2/learn.backward"
    phases = {BACKWARD: PhaseDelta(1, 100, 100), other: PhaseDelta(1, 100, 100)}
    mixed = Window(0, 0, 0, 10**9, phases, {schema.BACKWARD_COMM_S: 5e-8})
    found = separate_reductions(shard(mixed)).windows[0]
    assert found.phases[other].self_ns == 100
    assert found.phases[BACKWARD].self_ns == 50


S = 1_000_000_000
PASSES = {"learn.backward": PhaseDelta(10, 4 * S, 4 * S), "learn.loss": PhaseDelta(10, S, S)}


@pytest.mark.parametrize(
    ("counters", "comm_s"),
    [
        ({}, None),
        ({schema.BACKWARD_COMM_S: 1.0}, 1.0),
        # DDP's clock begins before the loss: 2 s of it and of the passes, 1 s of these alone.
        ({schema.BACKWARD_COMM_S: 1.0, schema.DDP_BACKWARD_S: 2.0}, 3.0),
        ({schema.BACKWARD_COMM_S: 1.0, schema.DDP_BACKWARD_S: 9.0}, 1.0),
        ({schema.BACKWARD_COMM_S: 99.0}, 3.8),
    ],
)
def test_what_is_longer_than_computing_is_communication(
    counters: dict[str, float], comm_s: float | None
) -> None:
    window = Window(0, 0, 0, 10 * S, phases=dict(PASSES), counters=counters)
    (after,) = separate_reductions(made_shard("rank-0", windows=[window])).windows
    if comm_s is None:
        assert "learn.backward/comm" not in after.phases
        return
    assert after.phases["learn.backward/comm"].self_ns == pytest.approx(comm_s * S)
    assert after.phases["learn.backward"].self_ns == pytest.approx((4 - comm_s) * S)
