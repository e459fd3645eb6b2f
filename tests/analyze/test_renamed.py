"""A phase under another name."""

from __future__ import annotations

import pytest
from made_captures import made_shard

from hotloop.analyze.renamed import renamed
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.window import PhaseDelta, Window


def test_a_phase_joins_another_of_its_new_name() -> None:
    phases = {
        "collect/old": PhaseDelta(3, 30, 30),
        "collect/new": PhaseDelta(1, 10, 10),
        "@thread-1/old": PhaseDelta(2, 20, 20),
    }
    samples = {("collect/old/inside", 1, 0): [2, 20]}
    shard = made_shard(windows=[Window(0, 0, 0, 100, phases, samples=samples)])
    (window,) = renamed(shard, "old", "new").windows
    assert set(window.phases) == {"collect/new", "@thread-1/old"}
    assert window.phases["collect/new"].calls == 4
    assert window.samples == {("collect/new/inside", 1, 0): [2, 20]}
    # The reader may ask again: the windows that were read stay as they were.
    assert shard.windows[0].phases["collect/new"].calls == 1


def test_all_that_is_known_by_path_goes_with_it() -> None:
    window = Window(0, 0, 0, 100, {"old": PhaseDelta(1, 10, 10)})
    window.device = {"old": DeviceDelta(host_ns=5), "new": DeviceDelta(host_ns=3)}
    window.device_parts = {"collect/old": DeviceDelta(host_ns=7)}
    shard = made_shard(windows=[window])
    shard.errors_s = {"old": 0.3, "new": 0.4, "@thread-1/old": 0.1}
    found = renamed(shard, "old", "new")
    assert found.windows[0].device == {"new": DeviceDelta(host_ns=8)}
    assert found.windows[0].device_parts == {"collect/new": DeviceDelta(host_ns=7)}
    assert found.errors_s == {"new": pytest.approx(0.5), "@thread-1/old": 0.1}
    assert window.device["new"].host_ns == 3
