"""`--stop-after`: what it says when it can never be reached."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotloop.errors import HotloopError
from hotloop.run.stopping import (
    HINT_SECONDS,
    UNRECOGNISED_SECONDS,
    StopAfter,
    Stopper,
    StopTraining,
    parse_stop_after,
)


def test_a_run_that_counts_nothing_is_told_so_once(tmp_path: Path) -> None:
    said: list[str] = []
    now = 0.0
    stopper = Stopper(said.append, lambda: now)
    look = stopper.watch_counter(tmp_path, StopAfter("env_steps", 100))
    look()
    assert said == []
    for now in (HINT_SECONDS, 2 * HINT_SECONDS):  # noqa: B007
        look()
    assert len(said) == 1
    assert "env steps" in said[0]
    assert not stopper.asked


def test_seconds_count_from_the_first_training_step() -> None:
    now = 0.0
    stopper = Stopper(print, lambda: now)
    limit = parse_stop_after("60s")
    assert stopper._due(limit, 0.0) == 60 + UNRECOGNISED_SECONDS
    now = 42.0
    stopper.training_began()
    now = 50.0
    stopper.training_began()  # another thread's loop
    assert stopper._due(limit, 0.0) == 42 + 60
    assert stopper._due(parse_stop_after("60s-total"), 0.0) == 60


def test_only_seconds_have_a_total() -> None:
    assert str(parse_stop_after("2m-total")) == "120 s in total"
    with pytest.raises(HotloopError, match="60s-total"):
        parse_stop_after("100steps-total")


@pytest.fixture
def compiling() -> Iterator[set[str]]:
    """The open regions of the main thread."""
    yield {"compile"}
    signal.signal(signal.SIGURG, signal.SIG_DFL)


@pytest.mark.skipif(not hasattr(signal, "SIGURG"), reason="the main thread is not woken there")
def test_a_compilation_ends_before_the_program_does(compiling: set[str]) -> None:
    stopper = Stopper(print, lambda: 0.0, is_open=compiling.__contains__)
    stopper.stop()
    for _ in range(10):
        stopper.check()

    def compile_no_longer() -> None:
        compiling.clear()
        stopper.check()

    with pytest.raises(StopTraining):
        compile_no_longer()
