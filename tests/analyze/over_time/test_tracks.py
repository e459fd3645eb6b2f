"""Processes and threads on one clock."""

from __future__ import annotations

import pytest
from made_captures import S, capture, made_shard, second

from hotloop.analyze.over_time.tracks import tracks_of
from hotloop.analyze.processes.workers import busy_shares
from hotloop.analyze.timeline import offset_s
from hotloop.capture.schema import Header
from hotloop.capture.slices import Slice, Slices


def test_clocks_of_one_host_and_of_two() -> None:
    main = made_shard("main", {"host": "a", "origin_ns": 5 * S, "started": 100.0})
    same = made_shard("w", {"host": "a", "origin_ns": 7 * S, "started": 900.0})
    other = made_shard("w", {"host": "b", "origin_ns": 9 * S, "started": 103.0})
    assert offset_s(same, main) == 2
    assert offset_s(other, main) == 3
    assert offset_s(made_shard("w", {}), main) == 0


def test_clocks_are_compared_by_boot_where_it_is_known() -> None:
    main = made_shard("main", {"host": "a", "boot": "x", "origin_ns": 5 * S, "started": 100.0})
    container = {"host": "b", "boot": "x", "origin_ns": 7 * S, "started": 900.0}
    namesake = {"host": "a", "boot": "y", "origin_ns": 9 * S, "started": 103.0}
    assert offset_s(made_shard("w", container), main) == 2
    assert offset_s(made_shard("w", namesake), main) == 3


def test_busy_shares_over_time() -> None:
    shard = made_shard("w", {}, {}, [second(0, env_step=0.5), second(1, env_step=0.2, wait=0.8)])
    assert busy_shares(shard, 0, 4, 4) == [0.5, 0.2, None, None]
    assert busy_shares(shard, 0, 2, 1) == [pytest.approx(0.35)]
    assert busy_shares(shard, 0, 0, 4) == []


def test_slices_that_cross_get_a_track_of_their_own() -> None:
    slices = [
        Slice("a", 0, 100),
        Slice("a/b", 10, 50),
        Slice("c", 40, 140),  # a task that took turns
        Slice("a/d", 50, 60),
        Slice("@thread-1/e", 0, 10),
        Slice("f", 100, 120),
    ]
    run = capture([], origin_ns=5)
    process = tracks_of(
        Slices("main", Header({"role": "main", "pid": 3, "origin_ns": 5}), slices), run
    )
    shown = [(t.thread, t.number, [s.path for s in t.slices]) for t in process.tracks]
    assert shown == [
        ("main", 0, ["a", "a/b", "a/d", "f"]),
        ("main", 1, ["c"]),
        ("thread-1", 0, ["@thread-1/e"]),
    ]
    assert process.offset_ns == -5
