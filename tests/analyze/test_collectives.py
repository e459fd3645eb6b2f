"""Reductions inside backward passes, from what DDP's own clock says."""

from __future__ import annotations

import pytest
from made_shards import made_shard

from hotloop.analyze.collectives import separate_reductions
from hotloop.capture import schema
from hotloop.capture.window import PhaseDelta, Window

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
