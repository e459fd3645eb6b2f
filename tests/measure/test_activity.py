"""Device activity by phase: on stretches made by hand, and on one recorded on a real card."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from hotloop.capture.device_delta import DeviceDelta, from_row
from hotloop.hooks.devices.kineto import activities_of
from hotloop.measure.activity import (
    COPY_CALL,
    KERNEL,
    LAUNCH,
    SYNC,
    TO_HOST,
    Activity,
    Call,
    RecordedWork,
    attribute,
    overlap,
    timeline,
    union,
)

RECORDED = Path(__file__).parent.parent / "data" / "kineto_small.json"


def launch(at: int, number: int, begin: int, end: int) -> list[Activity]:
    """A launch that takes 5, and its kernel."""
    return [Activity(LAUNCH, at, at + 5, number), Activity(KERNEL, begin, end, number)]


def test_a_kernel_belongs_to_the_phase_that_launched_it() -> None:
    calls = [Call("learn", 100, 900), Call("learn/learn.backward", 200, 400)]
    # Launched in the backward pass, run long after it.
    found = attribute(launch(250, 1, 600, 650), calls, 0, 1000).whole
    assert found["learn/learn.backward"].kernel_ns == 50
    assert found["learn/learn.backward"].launches == 1
    assert found["learn"].kernels == 0


def test_a_full_queue_blocks_the_next_launch() -> None:
    """The host waits inside a launch of `b` for a kernel that `a` launched."""
    us = 1_000
    calls = [Call("a", 10 * us, 200 * us), Call("b", 300 * us, 900 * us)]
    work = [Activity(LAUNCH, (20 + 10 * i) * us, (25 + 10 * i) * us, 10 + i) for i in range(5)]
    work += [Activity(LAUNCH, 30 * us, 35 * us, 1), Activity(KERNEL, 40 * us, 800 * us, 1)]
    work += [Activity(LAUNCH, 310 * us, 805 * us, 2), Activity(KERNEL, 810 * us, 820 * us, 2)]
    found = attribute(work, calls, 0, 1000 * us).whole
    assert found["b"].waited_ns == found["b"].blocked_ns == (800 - 315) * us
    assert found["b"].launch_ns == 10 * us
    assert (found["a"].awaited_ns, found["b"].awaited_ns) == ((800 - 315) * us, 0)
    assert found["a"].waited_ns == 0


def test_what_is_waited_for_belongs_to_the_phase_that_launched_it() -> None:
    calls = [Call("act", 0, 200), Call("read", 200, 1000)]
    work = [*launch(10, 1, 50, 400), *launch(20, 2, 350, 600), Activity(SYNC, 300, 900, 3)]
    found = attribute(work, [Call(c.path, c.begin_ns + 1, c.end_ns) for c in calls], 0, 1001).whole
    # Two kernels at once are waited for once, and no longer than they run.
    assert found["act"].awaited_ns == 300
    assert found["read"].waited_ns == 300


def test_own_times_add_up_to_the_stretch() -> None:
    calls = [Call("a", 100, 500), Call("a/b", 200, 300), Call("c", 600, 1200)]
    found = attribute([], calls, 0, 1000)
    assert {path: d.host_ns for path, d in found.whole.items()} == {"a": 300, "a/b": 100}
    assert {path: d.host_ns for path, d in found.parts.items()} == {"c": 400, "": 200}


def test_calls_that_reach_out_are_parts() -> None:
    calls = [Call("a", -50, 100), Call("a", 200, 300), Call("a", 900, 1000)]
    found = attribute(launch(950, 1, 960, 970), calls, 0, 1000)
    assert found.whole["a"].millicalls == 1000
    assert found.whole["a"].kernels == 0
    assert found.parts["a"].millicalls == 0
    assert found.parts["a"].kernels == 1


def test_calls_of_several_kinds_are_counted_in_whole_cycles() -> None:
    """Clear, clip, apply: a recording that begins inside of a long call has fewer of its kind."""
    calls: list[Call] = []
    work: list[Activity] = []
    for cycle in range(4):
        at = 1000 * cycle
        calls += [Call("opt", at, at + 20), Call("opt", at + 100, at + 200)]
        calls.append(Call("opt", at + 300, at + 900))
        work += launch(at + 110, 3 * cycle, at + 120, at + 130)
        work += launch(at + 310, 3 * cycle + 1, at + 320, at + 420)
        work += launch(at + 410, 3 * cycle + 2, at + 420, at + 500)
    for begin in range(0, 1000, 90):
        found = attribute(work, list(calls), begin, begin + 2950).whole["opt"]
        assert found.kernel_ns / found.millicalls == pytest.approx(190 / 3000), begin


def test_a_call_that_a_window_has_cut_is_one() -> None:
    calls = [Call("a", 100, 200), Call("a", 200, 300), Call("a", 400, 500)]
    assert attribute([], calls, 0, 1000).whole["a"].millicalls == 2000


def test_a_gap_in_several_slices_is_counted_as_the_core_does() -> None:
    calls = [Call("a", 100, 200), Call("a", 250, 300), Call("a", 400, 500), Call("a", 600, 700)]
    found = attribute([], calls, 0, 1000, {"a": 2}).whole["a"]
    assert found.millicalls == 2000


def test_the_device_is_idle_because_the_host_is_late() -> None:
    calls = [Call("a", 0, 1000)]
    activities = [*launch(10, 1, 20, 120), *launch(400, 2, 410, 500)]
    found = _all(attribute(activities, calls, 0, 500))
    # 0 to 15 and 120 to 405; the last 5 before each kernel it was in the queue.
    assert (found.late_ns, found.queue_ns, found.copy_ns) == (15 + 285, 5 + 5, 0)
    assert found.late_ns + found.queue_ns + found.copy_ns + found.kernel_ns == 500


def test_the_device_is_idle_because_it_copies() -> None:
    activities = [
        *launch(0, 1, 5, 100),
        Activity(COPY_CALL, 50, 60, 2),
        Activity(TO_HOST, 100, 300, 2, bytes=64),
        *launch(70, 3, 310, 400),
    ]
    found = _all(attribute(activities, [Call("a", 0, 900)], 0, 400))
    assert found.copy_ns == 200
    assert found.queue_ns == 10
    assert found.to_host_bytes == 64


def test_a_wait_while_the_device_computes_is_for_kernels() -> None:
    activities = [*launch(0, 1, 10, 500), Activity(SYNC, 20, 600, 2)]
    found = _all(attribute(activities, [], 0, 1000))
    assert (found.syncs, found.sync_ns, found.waited_ns) == (1, 580, 480)


def test_work_still_in_the_queue_ends_the_stretch_before_it() -> None:
    activities = [*launch(100, 1, 110, 200), Activity(LAUNCH, 500, 505, 2)]
    calls = [Call("a", 50, 300), Call("a", 450, 700)]
    found = attribute(activities, calls, 0, 1000)
    assert found.whole["a"].millicalls == 1000
    assert found.parts["a"].host_ns == 50


def test_kernels_of_before_are_no_idle_time() -> None:
    # The first kernel that was recorded had to wait: there was work before it.
    activities = launch(0, 1, 5_000_000, 5_000_100)
    found = _all(attribute(activities, [], 0, 5_000_100))
    assert found.late_ns + found.queue_ns == 0


def test_places_that_are_open_at_no_time() -> None:
    assert timeline([Call("a", 0, 10)], 20, 30).at(25) is None


def test_intervals() -> None:
    assert union([(5, 9), (1, 3), (2, 4), (9, 9)]) == [(1, 4), (5, 9)]
    assert overlap([(1, 4), (5, 9)], 3, 6) == 2
    assert overlap([], 0, 9) == 0
    assert overlap([(0, 100)], 10, 20) == 10


def test_a_row_of_another_version() -> None:
    length = len(fields(DeviceDelta))
    assert from_row(list(range(length + 3))).float32_ns == length - 1
    assert (
        from_row(list(range(length - 2))).pageable_ns == 0
    )  # written before there was such a field
    assert from_row([7]) == DeviceDelta(host_ns=7)


# -- a stretch of a real run --


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


@pytest.fixture
def found(recorded: dict[str, Any]) -> RecordedWork:
    calls = [Call(*each) for each in recorded["calls"]]
    activities = activities_of(recorded, recorded["to_clock_ns"])
    return attribute(activities, calls, recorded["begin_ns"], recorded["end_ns"])


def test_a_recorded_stretch_by_phase(found: RecordedWork) -> None:
    """Three steps of a small network: what each phase launches is the same each time."""
    kernels = {path: delta.kernels for path, delta in found.whole.items()}
    assert kernels == {
        "collect": 0,
        "collect/transfer": 2,  # argmax, of whose result the copy is: two cycles of three
        "collect/policy.act": 21,
        "learn": 0,
        "learn/learn.forward": 30,
        "learn/learn.backward": 33,
        "learn/learn.optimizer": 3,
        "learn/transfer": 0,
    }
    moved = found.whole["collect/transfer"]
    assert (moved.to_device, moved.to_device_bytes) == (2, 2 * 64 * 16 * 4)
    assert (moved.to_host, moved.to_host_bytes) == (2, 2 * 64 * 8)
    assert (found.whole["learn/transfer"].to_host_bytes, moved.millicalls) == (12, 4000)


def test_nothing_of_a_recorded_stretch_is_lost(
    found: RecordedWork, recorded: dict[str, Any]
) -> None:
    events = recorded["traceEvents"]
    kernels = [event for event in events if event["cat"] == "kernel"]
    whole = _all(found)
    assert whole.kernels == len(kernels) == 90
    assert whole.kernel_ns == pytest.approx(sum(event["dur"] for event in kernels) * 1e3, abs=90)
    assert whole.host_ns == recorded["end_ns"] - recorded["begin_ns"]
    idle = whole.late_ns + whole.queue_ns + whole.copy_ns
    # Kernels of one stream follow each other, so that both make the stretch.
    assert idle + whole.kernel_ns == pytest.approx(whole.host_ns, abs=100)


def _all(found: RecordedWork) -> DeviceDelta:
    total = DeviceDelta()
    for delta in (*found.whole.values(), *found.parts.values()):
        total.add(delta)
    return total
