"""Single calls: what a core keeps, and how a budget is spent."""

from __future__ import annotations

import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hotloop.capture.slices import SliceWriter, read_slices
from hotloop.measure.trace import Tracer, most_slices


class Traced:
    """A core of one kind, a clock, and its slices by name."""

    def __init__(self, module: ModuleType, clock: Any, room: int = 100) -> None:
        self.clock = clock
        self.core = module.Core(clock=clock)
        self.core.enable()
        self.core.trace(room)

    def region(self, name: str) -> Any:
        return self.core.region(name)

    def slices(self) -> list[tuple[str, int, int]]:
        """(name, begin, end), times from the clock's first."""
        names = {node: name for node, _, name, _ in self.core.nodes()}
        packed, _ = self.core.slices()
        return [
            (names[node], begin - 1_000_000_000, end - 1_000_000_000)
            for begin, end, node, _ in struct.iter_unpack("=QQII", packed)
        ]


@pytest.fixture
def traced(region_clock: ModuleType, clock: Any) -> Traced:
    return Traced(region_clock, clock)


def test_calls_inside_each_other(traced: Traced) -> None:
    with traced.region("outer"):
        traced.clock.pass_ns(10)
        with traced.region("inner"):
            traced.clock.pass_ns(5)
        traced.clock.pass_ns(1)
    assert traced.slices() == [("inner", 10, 15), ("outer", 0, 16)]
    assert traced.slices() == []


def test_a_wrapped_function(traced: Traced) -> None:
    timed = traced.region("f").wrap(lambda: traced.clock.pass_ns(7))
    timed()
    assert traced.slices() == [("f", 0, 7)]


def test_a_snapshot_cuts_what_is_open(traced: Traced) -> None:
    with traced.region("outer"):
        traced.clock.pass_ns(10)
        traced.core.snapshot()
        traced.clock.pass_ns(5)
    assert traced.slices() == [("outer", 0, 10), ("outer", 10, 15)]


def test_hotloops_own_work_leaves_no_hole(traced: Traced) -> None:
    with traced.region("outer"):
        with traced.region("inner"):
            traced.clock.pass_ns(10)
        traced.core.skip(4)
        traced.clock.pass_ns(4)
    inner, outer = traced.slices()
    assert outer[1] <= inner[1] <= inner[2] <= outer[2]


def test_what_was_open_before_begins_with_the_trace(region_clock: ModuleType, clock: Any) -> None:
    traced = Traced(region_clock, clock, room=0)
    with traced.region("outer"):
        clock.pass_ns(10)
        traced.core.trace(5)
        clock.pass_ns(3)
    assert traced.slices() == [("outer", 10, 13)]


def test_time_that_was_disabled_is_in_no_slice(traced: Traced) -> None:
    with traced.region("outer"):
        traced.clock.pass_ns(10)
        traced.core.disable()
        traced.clock.pass_ns(100)
        traced.core.enable()
        traced.clock.pass_ns(5)
    assert traced.slices() == [("outer", 0, 10), ("outer", 110, 115)]


def test_what_has_no_room_is_counted(region_clock: ModuleType, clock: Any) -> None:
    traced = Traced(region_clock, clock, room=2)
    for _ in range(5):
        with traced.region("a"):
            clock.pass_ns(1)
    packed, lost = traced.core.slices()
    assert (len(packed), lost) == (48, 3)
    traced.core.trace(0)
    with traced.region("a"):
        clock.pass_ns(1)
    assert traced.core.slices() == (b"", 0)


@pytest.mark.parametrize("region_clock", ["native"], indirect=True)
def test_a_gap_is_shown_only_when_it_is_claimed(traced: Traced) -> None:
    guess, truth = traced.region("guess"), traced.region("truth")
    guess.gap()
    traced.clock.pass_ns(10)
    with traced.region("next"):
        traced.clock.pass_ns(1)
    traced.core.claim_gap(truth)
    guess.gap()
    traced.clock.pass_ns(10)
    traced.core.end_gap()
    assert traced.slices() == [("truth", 0, 10), ("next", 10, 11)]


@pytest.mark.parametrize("region_clock", ["native"], indirect=True)
def test_a_gap_that_a_snapshot_cuts_is_what_it_was_guessed_to_be(traced: Traced) -> None:
    traced.region("guess").gap()
    traced.clock.pass_ns(10)
    traced.core.snapshot()
    traced.clock.pass_ns(5)
    traced.core.end_gap()
    traced.core.claim_gap(traced.region("truth"))
    assert traced.slices() == [("guess", 0, 10), ("truth", 10, 15)]


class Calls:
    """A core with a given number of calls in each window."""

    def __init__(self) -> None:
        self.room = 0
        self.made = 0
        self.rooms: list[int] = []

    def trace(self, room: int) -> None:
        self.room = room
        self.rooms.append(room)

    def slices(self) -> tuple[bytes, int]:
        kept = min(self.made, self.room)
        return struct.pack("=QQII", 1, 2, 0, 0) * kept, self.made - kept


def run_windows(
    folder: Path, most: int, calls_a_window: int, windows: int
) -> tuple[Any, list[int]]:
    """The process's slices, and the windows in which any were kept."""
    calls: Any = Calls()
    header = {"role": "main", "byteorder": "little"}
    tracer = Tracer(calls, lambda: SliceWriter(folder, "main", header), most, pytest.fail)
    tracer.start()
    kept = []
    for number in range(windows):
        calls.made = calls_a_window
        if calls.room:
            kept.append(number)
        tracer.take(number, ["a"])
    tracer.finish()
    found = read_slices(folder)
    return (found[0] if found else None), kept


def test_all_calls_of_a_short_run_are_kept(tmp_path: Path) -> None:
    process, kept = run_windows(tmp_path, 1000, 10, 20)
    assert (len(process.slices), process.lost) == (200, 0)
    assert kept == list(range(20))


def test_a_long_run_is_kept_in_ever_rarer_windows(tmp_path: Path) -> None:
    process, kept = run_windows(tmp_path, 1000, 10, 5000)
    assert len(process.slices) <= 1000
    assert process.lost == 0
    assert kept[:50] == list(range(50))
    assert kept[-1] > 2000
    assert len(kept) < 70


def test_a_burst_does_not_use_up_the_budget(tmp_path: Path) -> None:
    process, kept = run_windows(tmp_path, 1000, 100_000, 200)
    assert 500 < len(process.slices) <= 1000
    assert len(kept) > 4
    assert process.lost > 0


def test_a_disk_that_is_full_ends_the_trace_with_one_line(tmp_path: Path) -> None:
    said: list[str] = []

    def no_room() -> SliceWriter:
        raise OSError(28, "No space left on device")

    calls: Any = Calls()
    tracer = Tracer(calls, no_room, 100, said.append)
    tracer.start()
    calls.made = 5
    for number in range(5):
        tracer.take(number, ["a"])
        tracer.write()
    tracer.finish()
    assert len(said) == 1
    assert "No space left" in said[0]
    assert calls.room == 0


def test_workers_keep_less() -> None:
    assert most_slices(800, "main") == 800
    assert most_slices(800, "child") == 100
    assert most_slices(1, "child") == 1


def test_a_run_with_children(hotloop: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        """
import multiprocessing, threading, time
from hotloop import profile

def worker():
    for _ in range(30):
        with profile("env.step"):
            time.sleep(0.001)

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=worker, name="env-1")
    process.start()
    thread = threading.Thread(target=worker)
    thread.start()
    with profile("collect"):
        for _ in range(50):
            with profile("env.step"):
                pass
        time.sleep(1.2)  # over the end of a window
    thread.join()
    process.join()
"""
    )
    done = hotloop("run", "-q", "--trace", "-o", "cap", "train.py")
    assert done.returncode == 0, done.stderr
    main, child = read_slices(tmp_path / "cap")
    paths = [slice.path for slice in main.slices]
    assert paths.count("collect/env.step") == 50
    assert paths.count("collect") == 1
    assert paths.count("@thread-1/env.step") == 30
    collect = next(slice for slice in main.slices if slice.path == "collect")
    assert all(
        collect.begin_ns <= slice.begin_ns <= slice.end_ns <= collect.end_ns
        for slice in main.slices
        if slice.path == "collect/env.step"
    )
    assert child.header
    assert child.header.role == "env-1"
    assert [slice.path for slice in child.slices].count("env.step") == 30
