"""Device work scaled from recordings to the loop, and what bounds a run."""

from __future__ import annotations

from typing import Any

import pytest

from hotloop.analyze.bounds import TITLES, Bound, bounds
from hotloop.analyze.device import add_memory, device_use, slowdown
from hotloop.analyze.model import Phase
from hotloop.capture.device import DeviceDelta
from hotloop.capture.lines import parse, read_window, window_line
from hotloop.capture.window import Window

GPU: dict[str, Any] = {"gpu": {"name": "CUDA", "card": "A card", "mode": "windows", "remarks": []}}


def phase(path: str, self_s: float, calls: int, **more: Any) -> Phase:
    name = path.rpartition("/")[2]
    given: dict[str, Any] = {"p50_s": 0.0, "p95_s": 0.0, "p99_s": 0.0} | more
    return Phase(
        path, name, "Model", "main", "main", 0, calls, self_s, self_s, 0.0, 0.0, 0.0, 0.0, **given
    )


def window(number: int = 0, **more: Any) -> Window:
    begin = number * 1_000_000_000
    return Window(number, number, begin, begin + 1_000_000_000, **more)


#: Ten calls of a millisecond each, half as long again because they were recorded; each launched
#: three kernels that took 200 microseconds together.
BACKWARD = DeviceDelta(
    host_ns=15_000_000, millicalls=10_000, kernels=30, kernel_ns=2_000_000, launches=30,
    launch_ns=3_000_000, late_ns=9_000_000, queue_ns=500_000, copy_ns=500_000,
)  # fmt: skip


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


def test_too_little_is_not_a_figure() -> None:
    phases = [phase("learn.backward", 2.0, 2000), phase("env.step", 8.0, 2000)]
    use = device_use([window(device={"learn.backward": BACKWARD})], phases, GPU, 10.0)
    assert use is not None
    assert use.kernel_s is use.kernel_share is use.idle is None
    assert "20% of the loop" in use.remarks[0]


def test_idle_time_and_its_causes_add_up() -> None:
    phases = [phase("learn.backward", 10.0, 10_000)]
    use = device_use([window(device={"learn.backward": BACKWARD})], phases, GPU, 10.0)
    assert use is not None
    assert use.idle is not None
    assert sum(vars(use.idle).values()) == pytest.approx(1.0)
    assert use.idle.computing == pytest.approx(0.2)
    assert use.idle.host_late == pytest.approx(0.8 * 0.9)


def test_a_run_without_a_device() -> None:
    assert device_use([window()], [], {}, 1.0) is None


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
    add_memory(phases, {"gpu_sampled_peaks": {"learn/learn.backward": [5_000_000, 9_000_000]}})
    assert [p.gpu_peak_mb for p in phases] == [5.0, 7.0, None]  # an exact one stays
    assert [p.gpu_reserved_mb for p in phases] == [9.0, 9.0, None]
    add_memory(phases, {"gpu_sampled_peaks": {"learn": ["x"], "learning": 3}})


def test_device_work_in_a_capture() -> None:
    before = window(device={"a": BACKWARD}, device_parts={"": DeviceDelta(host_ns=5)})
    line = window_line(before)
    after = read_window(parse(line.encode()))
    assert (after.device, after.device_parts) == (before.device, before.device_parts)
    after.add(window(1, device={"a": BACKWARD}))
    assert after.device["a"].kernel_ns == 2 * BACKWARD.kernel_ns
    assert '"d"' not in window_line(window())


@pytest.mark.parametrize("bad", ['{"a":[1.5]}', '{"a":[-1]}', '{"a":3}', "[]", '{"a":["x"]}'])
def test_damaged_device_work_is_not_believed(bad: str) -> None:
    from hotloop.capture.lines import DamagedError

    line = window_line(window(device={"a": BACKWARD}))
    begin = line.index('"d":') + 4
    damaged = line[:begin] + bad + "}"
    with pytest.raises(DamagedError):
        read_window(parse(damaged.encode()))


# -- bounds --


def sampled(path: str, self_s: float, python: float, native: float, waiting: float = 0.0) -> Phase:
    shares = {"python_share": python, "native_share": native, "waiting_share": waiting}
    return phase(path, self_s, 100, **shares)


def test_shares_add_up() -> None:
    phases = [
        sampled("learn.backward", 9.0, 0.1, 0.9),
        sampled("env.step", 3.0, 0.2, 0.3, 0.5),
        sampled("learn", 1.0, 0.9, 0.0, 0.1),
    ]
    use = device_use([window(device={"learn.backward": BACKWARD})], phases, GPU, 14.0)
    found, whole = bounds(phases, use, outside_s=1.0)
    assert whole is not None
    for bound in (*found.values(), whole):
        assert sum(vars(bound).values()) == pytest.approx(1.0)
    backward = found["learn.backward"]
    assert (backward.python, backward.launching) == pytest.approx((0.1, 0.2))
    assert backward.native == pytest.approx(0.7)
    assert found["env.step"].waiting == 0.5
    assert found["learn"].waiting == 0.0  # it waits for a core, not for an environment
    assert whole.largest() == "native"
    assert set(vars(whole)) == set(TITLES)


def test_waits_and_transfers_without_samples() -> None:
    found, _ = bounds([phase("wait", 1.0, 1), phase("transfer", 1.0, 1)], None, 0.0)
    assert found == {"wait": Bound(waiting=1.0), "transfer": Bound(moving=1.0)}


def test_nothing_is_said_without_samples() -> None:
    assert bounds([phase("learn", 1.0, 1)], None, 0.0) == ({}, None)


def test_what_the_device_takes_may_be_more_than_samples_left() -> None:
    everything = DeviceDelta(host_ns=100, millicalls=9000, sync_ns=100, waited_ns=100)
    phases = [sampled("transfer", 1.0, 0.5, 0.5)]
    use = device_use([window(device={"transfer": everything})], phases, GPU, 1.0)
    found, _ = bounds(phases, use, 0.0)
    assert sum(vars(found["transfer"]).values()) == pytest.approx(1.0)
    assert found["transfer"].kernels == pytest.approx(2 / 3)
