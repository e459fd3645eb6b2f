"""States of sampled threads, as shares."""

from __future__ import annotations

import pytest

from hotloop.analyze.samples.states import States, states_by_path, states_of, sum_samples
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
from hotloop.capture.window import Window


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
    window = Window(0, 0, 0, 100)
    window.samples = {
        ("learn", 1, MODE_PYTHON): [1, 10],
        ("learn", 1, MODE_NATIVE): [3, 30],
        ("learn", 1, MODE_UNKNOWN): [4, 40],
        ("learn", 1, MODE_WAITING_CORE): [2, 20],
        ("learn", 2, MODE_UNKNOWN): [1, 20],  # nothing is known of this stack: as in its phase
        ("learn", 2, MODE_WAITING_CORE): [3, 30],
        ("act", 3, MODE_UNKNOWN): [1, 8],  # nor of this phase: as in the process
    }
    sums = sum_samples([window])
    assert sum(count for count, _ in sums.values()) == 15
    assert sums["learn", 1, MODE_PYTHON] == (2, 20)
    assert sums["learn", 1, MODE_NATIVE] == (6, 60)
    assert sums["learn", 2, MODE_NATIVE] == (1, 15)
    assert sums["act", 3, MODE_PYTHON][1] == 2
    learn = states_by_path([window])["learn"]
    assert (learn.python, learn.native, learn.core) == pytest.approx((25 / 150, 75 / 150, 50 / 150))


def test_what_no_sample_knows_stays_unknown() -> None:
    window = Window(0, 0, 0, 100)
    window.samples = {("learn", 1, MODE_UNKNOWN): [4, 40]}
    assert sum_samples([window]) == {("learn", 1, MODE_UNKNOWN): (4, 40)}


def test_nothing_known_is_no_state() -> None:
    assert states_of({}) is None
    assert states_of({MODE_UNKNOWN: 100}) is None
