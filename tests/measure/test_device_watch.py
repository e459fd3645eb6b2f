"""When a device is recorded, how much, and that nothing of it reaches the program."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from hotloop.capture.window import Window
from hotloop.measure import device_watch
from hotloop.measure.activity import KERNEL, LAUNCH, Activity
from hotloop.measure.device_watch import (
    BUDGET,
    CREDIT_S,
    LONGEST_S,
    MOST_EVENTS,
    WARM_UP_S,
    DeviceWatch,
)
from hotloop.measure.profiler import Profiler


class StandIn:
    """A device with given activity."""

    name = "CUDA"

    def __init__(self) -> None:
        self.used = True
        self.why: str | None = None
        self.risks: str | None = None
        self.started = 0
        self.fails: Exception | None = None
        self.allocated = 1_000_000
        self.empty = False
        self.prepared = 0
        self.driver_calls = 0
        self.costs: Callable[[], None] = lambda: None

    def in_use(self) -> bool:
        return self.used

    def records(self) -> str | None:
        return self.why

    def risk(self) -> str | None:
        return self.risks

    def prepare(self) -> None:
        self.prepared += 1

    def start(self) -> None:
        self.started += 1
        if self.fails is not None:
            raise self.fails

    def settle(self) -> None: ...

    def stop(self, to_clock_ns: int) -> list[Activity]:
        self.costs()
        if self.empty:
            return []
        return [Activity(LAUNCH, 0, 1, 1), Activity(KERNEL, 2, 3, 1)]

    def call_driver(self) -> None:
        self.driver_calls += 1

    def memory(self) -> tuple[int, int] | None:
        return self.allocated, 2_000_000

    def about(self) -> dict[str, Any]:
        return {"card": "a card"}


@pytest.fixture
def profiler(clock: Any) -> Profiler:
    profiler = Profiler(clock)
    profiler.enable()
    return profiler


@pytest.fixture
def device() -> StandIn:
    return StandIn()


@pytest.fixture
def watch(profiler: Profiler, device: StandIn, clock: Any, monkeypatch: Any) -> DeviceWatch:
    monkeypatch.setattr(device_watch, "PATIENCE_S", 0.0)
    watch = DeviceWatch(profiler, [device], clock=clock)
    # Recordings last as long as the fake clock says.
    monkeypatch.setattr(watch._stop, "wait", lambda seconds=None: clock.pass_ns(int(seconds * 1e9)))
    return watch


def train(profiler: Profiler, clock: Any, seconds: float) -> None:
    with profiler.profile("learn"):
        clock.pass_ns(int(seconds * 1e9))
    profiler.close_window()


def test_recordings_begin_soon_after_the_loop(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    watch._tick()
    assert device.started == 0  # the loop has not begun
    train(profiler, clock, 0.9 * WARM_UP_S)
    watch._tick()
    assert device.started == 0
    train(profiler, clock, 0.2 * WARM_UP_S)
    watch._tick()
    assert device.started == watch.recordings == 1


def test_nothing_is_recorded_during_an_import(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    train(profiler, clock, 2 * WARM_UP_S)
    with profiler.profile("import"):
        profiler.close_window()
        watch._tick()
        assert device.started == 0
    watch._tick()
    assert device.started == 1


def test_the_length_follows_the_number_of_events(watch: DeviceWatch) -> None:
    watch._fit_length(events=3, seconds=0.015)
    assert watch._length_s == LONGEST_S  # few, long kernels: whole iterations
    watch._fit_length(events=2 * MOST_EVENTS, seconds=0.1)
    assert watch._length_s == pytest.approx(0.05)
    watch._fit_length(events=10**9, seconds=0.1)
    assert watch._length_s > 0


def test_a_long_call_of_which_a_part_was_recorded_gives_way(
    watch: DeviceWatch, profiler: Profiler, clock: Any
) -> None:
    """Otherwise every recording goes to calls that are longer than a recording."""
    watch.begin()
    with profiler.profile("policy.act"):
        clock.pass_ns(200_000_000)
    train(profiler, clock, 2 * WARM_UP_S)
    assert watch._least_recorded() == "learn"
    with profiler.profile("learn"):
        watch._tick()
    assert watch.recordings == 1
    assert watch._least_recorded() == "policy.act"
    watch.end()


def test_what_a_program_waits_for_others_is_no_budget(
    watch: DeviceWatch, profiler: Profiler, clock: Any
) -> None:
    for _ in range(400):
        train(profiler, clock, 0.1)
        with profiler.profile("wait"):
            clock.pass_ns(400_000_000)
        profiler.close_window()
        watch._tick()
    assert watch.recordings >= 2
    assert watch.spent_ns <= 1.1 * BUDGET * 400 * 0.1e9 + CREDIT_S * 1e9


def test_all_recordings_cost_a_hundredth(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    device.costs = lambda: clock.pass_ns(50_000_000)
    for _ in range(600):
        train(profiler, clock, 0.2)
        watch._tick()
        elapsed = clock() - profiler.core.loop_first
        assert watch.spent_ns <= BUDGET * elapsed + (CREDIT_S + 0.1) * 1e9
    assert watch.recordings >= 10


def test_a_recording_that_could_harm_the_program_is_for_full_mode_only(
    profiler: Profiler, device: StandIn, watch: DeviceWatch, clock: Any
) -> None:
    train(profiler, clock, 2 * WARM_UP_S)
    watch._tick()
    assert device.started == 1
    device.risks = "Another framework came to the device."
    train(profiler, clock, 100.0)
    watch._tick()
    watch._tick()
    assert device.started == 1
    assert watch.remarks == [device.risks]
    full = DeviceWatch(profiler, [device], "full", clock)
    full._stop.wait = lambda seconds=None: clock.pass_ns(1)  # type: ignore[method-assign]
    full._tick()
    assert device.started == 2


def test_full_records_at_every_turn(profiler: Profiler, device: StandIn, clock: Any) -> None:
    watch = DeviceWatch(profiler, [device], "full", clock)
    watch._stop.wait = lambda seconds=None: clock.pass_ns(1)  # type: ignore[method-assign]
    for _ in range(3):
        watch._tick()
        watch._tick()  # too soon: the driver's tracer must have gone
        clock.pass_ns(int(1e9))
    assert watch.recordings == 3


@pytest.mark.parametrize("closes", [False, True], ids=["alone", "a window closes"])
def test_a_window_that_closes_meanwhile_changes_no_calls(
    watch: DeviceWatch,
    profiler: Profiler,
    device: StandIn,
    clock: Any,
    monkeypatch: Any,
    closes: bool,
) -> None:
    train(profiler, clock, 30.0)
    written: list[Window] = []
    profiler.on_window(written.append)
    if closes:  # after the recording too, while its work is waited for
        monkeypatch.setattr(device, "settle", lambda: train(profiler, clock, 0.1))

    def go_on(seconds: float) -> None:
        for update in range(10):
            clock.pass_ns(1_000)
            with profiler.profile("learn"):
                clock.pass_ns(1_000_000)
            if closes and update in (3, 6):
                profiler.close_window()
        clock.pass_ns(1_000)

    monkeypatch.setattr(watch._stop, "wait", go_on)
    watch._tick()
    profiler.close_window()
    assert sum(window.device["learn"].millicalls for window in written if window.device) == 10_000


def test_launches_without_their_kernels_do_not_count(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    train(profiler, clock, 30.0)
    now = clock()
    device.stop = lambda to_clock_ns: [  # type: ignore[method-assign]
        Activity(LAUNCH, now + 10, now + 20, 1),
        Activity(LAUNCH, now + 30, now + 40, 2),
        Activity(KERNEL, now + 50, now + 80, 2),
    ]
    watch._tick()
    assert (watch.recordings, profiler.device_parts) == (1, {})
    assert "left out" in watch.remarks[0]


def test_it_is_prepared_in_the_programs_thread(profiler: Profiler, device: StandIn) -> None:
    watch = DeviceWatch(profiler, [device])
    watch.begin()
    watch.end()
    assert device.prepared == 1


def test_a_stopped_tracer_can_detach_from_a_program_that_no_longer_uses_the_device(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    train(profiler, clock, 30.0)
    watch._tick()
    assert (watch.recordings, device.driver_calls) == (1, 0)
    watch.end()
    assert device.driver_calls > 1  # it may not have been ready to detach at the first
    clock.pass_ns(10**9)
    watch.end()
    enough = device.driver_calls
    watch.end()
    assert device.driver_calls == enough


def test_off_watches_nothing(profiler: Profiler, device: StandIn) -> None:
    watch = DeviceWatch(profiler, [device], "off")
    watch.begin()
    assert watch._thread is None


def test_what_was_recorded_is_in_the_next_window(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    windows: list[Window] = []
    profiler.on_window(windows.append)
    train(profiler, clock, 30.0)
    now = clock()
    device.stop = lambda to_clock_ns: [  # type: ignore[method-assign]
        Activity(LAUNCH, now + 10, now + 20, 1),
        Activity(KERNEL, now + 30, now + 80, 1),
    ]
    watch._tick()
    profiler.close_window()
    assert sum(w.device_parts[""].kernel_ns for w in windows if w.device_parts) == 50
    assert windows[-1].gauges["gpu_stretches"] == 1
    profiler.close_window()
    assert not windows[-1].device_parts


def test_memory_by_phase(watch: DeviceWatch, profiler: Profiler, device: StandIn) -> None:
    with profiler.profile("learn"):
        watch._tick()
        device.allocated = 5_000_000
        watch._tick()
    device.allocated = 500_000
    watch._tick()
    profiler.close_window()
    assert watch.notes()["gpu_sampled_peaks"] == {
        "learn": [5_000_000, 2_000_000],
        "": [500_000, 2_000_000],
    }
    assert watch.notes()["gpu"]["card"] == "a card"


def test_a_device_that_fails_is_left_alone(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    device.fails = RuntimeError("CUDA error: device lost\nmore about it")
    for _ in range(5):
        train(profiler, clock, 30.0)
        watch._tick()
    assert device.started == 2
    assert watch.remarks == ["Device activity could not be recorded: CUDA error: device lost."]


def test_a_device_that_cannot_be_recorded_is_still_watched(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    device.why = "nothing to record"
    train(profiler, clock, 30.0)
    watch._tick()
    assert device.started == 0
    assert watch.remarks == ["nothing to record"]
    assert profiler.gauges["gpu_allocated"] == 1_000_000


def test_empty_recordings_are_said(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    device.empty = True
    for _ in range(6):
        train(profiler, clock, 30.0)
        watch._tick()
    (remark,) = watch.remarks
    assert "no device activity" in remark


def test_the_program_has_the_profiler_to_itself(
    watch: DeviceWatch, profiler: Profiler, device: StandIn, clock: Any
) -> None:
    watch.give_way()
    train(profiler, clock, 60.0)
    watch._tick()
    assert device.started == 0
    assert "profiler itself" in watch.remarks[0]


def test_preparing_is_not_the_program_using_the_profiler(
    profiler: Profiler, device: StandIn, clock: Any
) -> None:
    watch = DeviceWatch(profiler, [device], clock=clock)
    device.prepare = watch.give_way  # type: ignore[method-assign]
    watch.prepare()
    assert watch.remarks == []
    watch.give_way()
    assert "profiler itself" in watch.remarks[0]


def test_a_device_that_is_used_later_is_prepared_then(
    profiler: Profiler, device: StandIn, clock: Any
) -> None:
    watch = DeviceWatch(profiler, [device], clock=clock)
    device.used = False
    watch.prepare()
    assert device.prepared == 0
    device.used = True
    elsewhere = threading.Thread(target=watch.prepare)
    elsewhere.start()
    elsewhere.join()
    assert device.prepared == 0  # Kineto must begin in the thread that imported torch
    watch.prepare()
    watch.prepare()
    assert device.prepared == 1


def test_a_thread_that_raises_ends_alone(
    profiler: Profiler, device: StandIn, monkeypatch: Any
) -> None:
    monkeypatch.setattr(device_watch, "IDLE_TICK_S", 0.001)
    device.in_use = lambda: 1 / 0  # type: ignore[assignment, method-assign, return-value]
    watch = DeviceWatch(profiler, [device])
    watch.begin()
    assert watch._thread is not None
    watch._thread.join(5)
    assert "could not be watched" in watch.remarks[0]
    watch.end()


def test_a_trace_goes_on_after_a_recording(
    watch: DeviceWatch, profiler: Profiler, clock: Any
) -> None:
    kept: list[str] = []

    class Tracer:
        def pause(self, end_ns: int, paths: list[str]) -> None:
            kept.append("pause")

        def resume(self) -> None:
            kept.append("resume")

        def take(self, end_ns: int, paths: list[str]) -> None: ...

    profiler.tracer = Tracer()  # type: ignore[assignment]
    train(profiler, clock, 30.0)
    watch._tick()
    assert kept == ["pause", "resume"]
