"""States of sampled threads, as shares."""

from __future__ import annotations

import pytest

from hotloop.analyze.states import States, states_of
from hotloop.capture.sample_modes import (
    MODE_NATIVE,
    MODE_PYTHON,
    MODE_SLEEPING,
    MODE_UNKNOWN,
    MODE_WAITING,
    MODE_WAITING_CORE,
    MODE_WAITING_IO,
    MODE_WAITING_LOCK,
)


def test_shares_of_every_state_add_up() -> None:
    modes = {
        MODE_PYTHON: 10,
        MODE_NATIVE: 20,
        MODE_WAITING_LOCK: 5,
        MODE_WAITING_CORE: 15,
        MODE_WAITING_IO: 25,
        MODE_SLEEPING: 20,
        MODE_WAITING: 5,
    }
    states = states_of(modes)
    assert states == States(0.1, 0.2, 0.05, 0.15, 0.25, 0.2, 0.05)
    assert states.waiting == pytest.approx(0.7)


def test_running_of_unknown_kind_is_shared_like_the_known() -> None:
    states = states_of({MODE_PYTHON: 10, MODE_NATIVE: 30, MODE_UNKNOWN: 40, MODE_WAITING_CORE: 20})
    assert states is not None
    assert (states.python, states.native, states.core) == pytest.approx((0.2, 0.6, 0.2))


def test_nothing_known_is_no_state() -> None:
    assert states_of({}) is None
    assert states_of({MODE_UNKNOWN: 100}) is None
