"""Device work scaled from recordings to the loop, and what bounds a run."""

from __future__ import annotations

import pytest
from analyses import Make
from device_windows import BACKWARD, GPU, phase, window

from hotloop.analyze.device_use import add_memory, device_use, kernel_seconds, launches_in, slowdown
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.schema import Notes


def test_work_is_scaled_by_calls() -> None:
    phases = [phase("learn", 0.1, 100), phase("learn/learn.backward", 9.0, 9000)]
    use = device_use([window(device={"learn/learn.backward": BACKWARD})], phases, GPU, 10.0)
    assert use is not None
    (only,) = use.phases
    assert only.kernel_s == pytest.approx(9000 * 200e-6)
    assert only.launches == pytest.approx(27_000)
    assert only.launching == pytest.approx(0.2)
    assert use.kernel_share == pytest.approx(0.18)
    # Phases above have the device time of what is below them.
    assert [p.device_s for p in phases] == pytest.approx([1.8, 1.8])


def test_parts_of_calls_are_scaled_by_time() -> None:
    """As slow as the whole calls were: a part of a long call was recorded as slowly."""
    parts = DeviceDelta(host_ns=30_000_000, kernel_ns=10_000_000, kernels=10, launches=10)
    phases = [phase("learn.backward", 6.0, 6000), phase("policy.act", 4.0, 1)]
    windows = [window(device={"learn.backward": BACKWARD}, device_parts={"policy.act": parts})]
    assert slowdown({"learn.backward": BACKWARD}, {p.path: p for p in phases}) == pytest.approx(1.5)
    use = device_use(windows, phases, GPU, 10.0)
    assert use is not None
    act = next(each for each in use.phases if each.path == "policy.act")
    assert act.kernel_s == pytest.approx(4.0 * 1.5 / 0.030 * 0.010)
    assert not act.known  # a hundredth of one call


def test_short_calls_do_not_stand_for_long_ones() -> None:
    """100 calls of 0.1 ms launch nothing, and no recording holds one of the 100 of 40 ms."""
    optimizer = phase("learn.optimizer", 4.0, 200)
    parts = DeviceDelta(host_ns=20_000_000, kernel_ns=5_000_000, kernels=100, launches=100)

    def kernels(short: DeviceDelta) -> float:
        recorded = window(device={optimizer.path: short}, device_parts={optimizer.path: parts})
        use = device_use([recorded], [optimizer], GPU, 5.0)
        assert use is not None
        return next(each for each in use.phases if each.path == optimizer.path).kernel_s

    assert kernels(DeviceDelta(millicalls=3000, host_ns=300_000)) == pytest.approx(1.0, rel=0.05)
    # Calls of one kind: those that were recorded whole count alone.
    assert kernels(DeviceDelta(millicalls=3000, host_ns=60_000_000)) == 0


def test_too_little_is_not_a_figure() -> None:
    phases = [phase("learn.backward", 2.0, 2000), phase("env.step", 8.0, 2000)]
    use = device_use([window(device={"learn.backward": BACKWARD})], phases, GPU, 10.0)
    assert use is not None
    assert use.kernel_s is use.kernel_share is use.idle is None
    assert "20% of the loop" in use.remarks[0]


def test_parts_as_long_as_a_call_are_enough() -> None:
    """A call of 30 ms with thousands of launches is longer than a recording may be."""
    parts = DeviceDelta(host_ns=45_000_000, kernel_ns=9_000_000, kernels=900, launches=900)
    phases = [phase("learn.backward", 9.0, 300), phase("env.step", 1.0, 300)]
    use = device_use([window(device_parts={"learn.backward": parts})], phases, GPU, 10.0)
    assert use is not None
    assert use.launches == pytest.approx(9.0 / 0.045 * 900)
    assert use.kernel_share == pytest.approx(0.18)


def test_kernels_take_no_longer_than_the_card_was_busy() -> None:
    """The host runs ahead while it is recorded, and waits for a full queue most of the time."""
    ahead = DeviceDelta(host_ns=8_000_000, kernel_ns=40_000_000, kernels=300, launches=300)
    whole = DeviceDelta(millicalls=3000, host_ns=2_000_000, kernel_ns=3_000_000)
    phases = [phase("learn.forward", 6.0, 1500), phase("learn.optimizer", 2.0, 1000)]
    busy = window(
        device={"learn.optimizer": whole},
        device_parts={"learn.forward": ahead},
        gauges={"gpu_busy_ns": 9e8},
    )
    use = device_use([busy], phases, GPU, 8.0)
    assert use is not None
    optimizer, forward = sorted(use.phases, key=lambda each: each.kernel_s)
    assert optimizer.kernel_s == pytest.approx(1.0)  # whole calls are believed
    assert forward.kernel_s == pytest.approx(0.9 * 8.0 - 1.0)


@pytest.mark.parametrize("busy_ns", [4e8, 0.0])
def test_float32_products_are_a_part_of_the_kernels(busy_ns: float) -> None:
    """However much the kernels had to shrink; a card that is busy 0% may have been so for 0.4%."""
    ahead = DeviceDelta(host_ns=8_000_000, kernel_ns=40_000_000, float32_ns=20_000_000, launches=9)
    busy = window(device_parts={"learn.forward": ahead}, gauges={"gpu_busy_ns": busy_ns})
    use = device_use([busy], [phase("learn.forward", 8.0, 1500)], GPU, 8.0)
    assert use is not None
    (forward,) = use.phases
    assert 0 < forward.kernel_s <= 0.4 * 8.0 + 1e-9
    assert forward.float32_s == pytest.approx(forward.kernel_s / 2)


def test_a_card_whose_driver_rounds_to_zero_was_still_used() -> None:
    few = DeviceDelta(host_ns=500_000_000, kernel_ns=1_000_000, kernels=50, launches=50)
    idle = window(device_parts={"policy.act": few}, gauges={"gpu_busy_ns": 0.0})
    use = device_use([idle], [phase("policy.act", 1.0, 2)], GPU, 1.0)
    assert use is not None
    assert use.figures.busy == 0.0
    assert use.phases[0].kernel_s == pytest.approx(0.002)


def test_a_phase_of_which_nothing_was_recorded_has_no_device_time() -> None:
    phases = [phase("learn.backward", 9.0, 9000), phase("policy.act", 1.0, 10)]
    device_use([window(device={"learn.backward": BACKWARD})], phases, GPU, 10.0)
    assert phases[0].device_s == pytest.approx(1.8)
    assert phases[1].device_s is None


def test_nothing_is_missing_where_nothing_is_launched() -> None:
    """Imports in the loop and waiting for other processes: no recording could show more."""
    phases = [phase("learn.backward", 2.0, 2000), phase("wait", 3.0, 20), phase("import", 5.0, 1)]
    use = device_use([window(device={"learn.backward": BACKWARD})], phases, GPU, 10.0)
    assert use is not None
    assert use.known == pytest.approx(1.0)
    assert use.kernel_share == pytest.approx(0.04)


def test_phases_that_are_known_have_figures_where_the_loop_has_none(make: Make) -> None:
    analysis = make(phase("learn.backward", 2.0, 2000), phase("env.step", 8.0, 2000))
    recorded = [window(device={"learn.backward": BACKWARD})]
    analysis.device = device_use(recorded, analysis.phases, GPU, 10.0)
    assert analysis.device is not None
    assert analysis.device.kernel_s is None
    assert kernel_seconds(analysis, "learn.backward") == pytest.approx(2000 * 200e-6)
    assert launches_in(analysis, "learn.backward") == pytest.approx(6000)
    assert kernel_seconds(analysis, "env.step") is None
    assert kernel_seconds(analysis, "learn.backward", "env.step") is None


def test_idle_time_and_its_causes_add_up() -> None:
    phases = [phase("learn.backward", 10.0, 10_000)]
    use = device_use([window(device={"learn.backward": BACKWARD})], phases, GPU, 10.0)
    assert use is not None
    assert use.idle is not None
    assert sum(vars(use.idle).values()) == pytest.approx(1.0)
    assert use.idle.computing == pytest.approx(0.2)
    assert use.idle.host_late == pytest.approx(0.8 * 0.9)


def test_a_run_without_a_device() -> None:
    assert device_use([window()], [], Notes(), 1.0) is None


def test_a_short_run_says_so() -> None:
    use = device_use([window()], [], GPU, 1.0)
    assert use is not None
    assert "too short" in use.remarks[0]


def test_the_card() -> None:
    gauges = {"gpu_busy_ns": 4e8, "gpu_power_w": 200.0, "gpu_memory": 5e6, "gpu_reserved": 3e6}
    use = device_use([window(i, gauges=gauges) for i in range(3)], [], GPU, 3.0)
    assert use is not None
    assert use.figures.busy == pytest.approx(0.4)
    assert use.figures.power_w == pytest.approx(200.0)
    assert (use.figures.memory_mb, use.reserved_mb) == (5.0, 3.0)
    assert use.figures.clock_mhz is None


@pytest.mark.parametrize(("a_second", "a_minute"), [(0.0, 0.0), (1e6, 60.0)])
def test_memory_that_grows(a_second: float, a_minute: float) -> None:
    windows = [window(i, gauges={"gpu_allocated_low": 5e6 + i * a_second}) for i in range(40)]
    use = device_use(windows, [], GPU, 40.0)
    assert use is not None
    assert use.growth_mb_per_minute == pytest.approx(a_minute)
    short = device_use(windows[:5], [], GPU, 5.0)
    assert short is not None
    assert short.growth_mb_per_minute is None


def test_sampled_memory_goes_to_phases_around_it() -> None:
    phases = [
        phase("learn", 1.0, 1),
        phase("learn/learn.backward", 1.0, 1, gpu_peak_mb=7.0),
        phase("learning", 1.0, 1),
    ]
    peaks = {"learn/learn.backward": [5_000_000, 9_000_000]}
    add_memory(phases, Notes({"gpu_sampled_peaks": peaks}))
    assert [p.gpu_peak_mb for p in phases] == [5.0, 7.0, None]  # an exact one stays
    assert [p.gpu_reserved_mb for p in phases] == [9.0, 9.0, None]
    add_memory(phases, Notes({"gpu_sampled_peaks": {"learn": ["x"], "learning": 3}}))


# -- bounds --
