"""Hiding most of a recorded run, as if hooks had rested, and finding it again."""

from __future__ import annotations

import random

import pytest

from benchmarks.resting import hide
from hotloop.analyze.correction import add_up
from hotloop.analyze.stretches.resting import whole
from hotloop.capture import schema
from hotloop.capture.growing import Shard
from hotloop.capture.lines import StackRow
from hotloop.capture.window import PhaseDelta, Window
from hotloop.phases import REST

S = 1_000_000_000
SHARES = {"collect/env.step": 0.6, "collect/policy.act": 0.3, "learn.optimizer": 0.1}


def second(number: int) -> Window:
    window = Window(number, number, number * S, (number + 1) * S, loop_last_ns=(number + 1) * S)
    for stack, (path, share) in enumerate(SHARES.items(), start=1):
        ns = int(share * S)
        window.phases[path] = PhaseDelta(calls=100, self_ns=ns, elapsed_ns=ns)
        window.samples[path, stack, 0] = [int(100 * share), ns]
    window.counters = {schema.ENV_STEPS: 100, schema.TRANSFERS: 200}
    return window


def test_what_is_hidden_is_found_again() -> None:
    stacks = {i: StackRow(i, 0, "train.py", f"f{i}", 1, i) for i in range(1, 4)}
    shard = Shard("main", windows=[second(i) for i in range(200)], stacks=stacks)
    hidden = hide(shard, random.Random(0))
    rested = sum(REST in window.phases for window in hidden.windows)
    assert 120 < rested < 140
    assert all(
        schema.TRANSFERS not in window.counters and window.counters[schema.ENV_STEPS] == 100
        for window in hidden.windows
        if REST in window.phases
    )
    found = whole(hidden)
    totals = add_up(found.windows)
    for path, share in SHARES.items():
        assert totals[path].self_ns == pytest.approx(share * 200 * S, rel=1e-3)
        assert totals[path].calls + totals[path].estimated_calls == pytest.approx(20_000, rel=1e-3)
    seen = {key[0] for window in found.windows for key in window.samples}
    assert seen == set(SHARES)
    assert sum(w.counters[schema.TRANSFERS] for w in found.windows) == pytest.approx(40_000)
