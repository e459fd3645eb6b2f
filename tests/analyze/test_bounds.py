"""What limits a run: Python, native code, waiting or the device."""

from __future__ import annotations

import pytest
from device_windows import BACKWARD, GPU, phase, window

from hotloop.analyze.bounds import TITLES, Bound, bounds
from hotloop.analyze.device_use import device_use
from hotloop.analyze.samples.states import States
from hotloop.capture.device_delta import DeviceDelta


# -- bounds --
def test_shares_add_up() -> None:
    phases = [
        phase("learn.backward", 9.0, 100),
        phase("env.step", 3.0, 100),
        phase("learn", 1.0, 100),
    ]
    states = {
        "learn.backward": States(python=0.1, native=0.9),
        "env.step": States(python=0.2, native=0.3, io=0.4, core=0.1),
        "learn": States(python=0.9, core=0.1),
        "": States(native=1.0),
    }
    use = device_use([window(device={"learn.backward": BACKWARD})], phases, GPU, 14.0)
    found, whole = bounds(phases, use, 1.0, states, has_workers=True)
    assert whole is not None
    for bound in (*found.values(), whole):
        assert sum(vars(bound).values()) == pytest.approx(1.0)
    backward = found["learn.backward"]
    assert (backward.python, backward.launching) == pytest.approx((0.1, 0.2))
    assert backward.native == pytest.approx(0.7)
    assert found["env.step"].waiting == pytest.approx(0.4)
    assert found["learn"].waiting == 0.0  # it waits for a core, not for an environment
    assert found["learn"].cores == pytest.approx(0.1)
    assert whole.largest() == "native"
    assert set(vars(whole)) == set(TITLES)


def test_the_whole_is_what_the_samples_of_its_parts_say() -> None:
    """Time in no phase counts by its own samples, not as Python."""
    states = {"learn": States(python=0.5, native=0.5), "": States(native=0.2, sleeping=0.8)}
    _, whole = bounds([phase("learn", 4.0, 1)], None, 6.0, states)
    assert whole is not None
    assert (whole.python, whole.native, whole.sleeping) == pytest.approx((0.2, 0.32, 0.48))


def test_an_environment_of_the_same_process_is_not_waited_for() -> None:
    states = {"env.step": States(python=0.5, io=0.3, lock=0.2)}
    found, _ = bounds([phase("env.step", 1.0, 1)], None, 0.0, states)
    assert (found["env.step"].waiting, found["env.step"].io) == pytest.approx((0.0, 0.3))


def test_waits_and_transfers_without_samples() -> None:
    found, _ = bounds([phase("wait", 1.0, 1), phase("transfer", 1.0, 1)], None, 0.0, {})
    assert found == {"wait": Bound(waiting=1.0), "transfer": Bound(moving=1.0)}


def test_nothing_is_said_without_samples() -> None:
    assert bounds([phase("learn", 1.0, 1)], None, 0.0, {}) == ({}, None)


def test_what_the_device_takes_may_be_more_than_samples_left() -> None:
    everything = DeviceDelta(host_ns=100, millicalls=9000, sync_ns=100, waited_ns=100)
    phases = [phase("transfer", 1.0, 100)]
    use = device_use([window(device={"transfer": everything})], phases, GPU, 1.0)
    found, _ = bounds(phases, use, 0.0, {"transfer": States(python=0.5, native=0.5)})
    assert sum(vars(found["transfer"]).values()) == pytest.approx(1.0)
    assert found["transfer"].kernels == pytest.approx(2 / 3)


def test_waiting_for_a_core_is_no_data_movement() -> None:
    states = {"transfer": States(native=0.1, core=0.9)}
    found, _ = bounds([phase("transfer", 1.0, 1)], None, 0.0, states)
    assert (found["transfer"].moving, found["transfer"].cores) == pytest.approx((0.1, 0.9))
