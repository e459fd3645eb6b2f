"""The recorder: what it writes, and what it does where it cannot write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotloop import Profiler
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.writer import ShardWriter
from hotloop.run.recorder import Recorder


@pytest.fixture
def profiler(clock: Any) -> Profiler:
    profiler = Profiler(clock=clock)
    profiler.enable()
    return profiler


def step(profiler: Profiler, clock: Any) -> None:
    with profiler.profile("env.step"):
        clock.pass_ns(1_000_000)
    profiler.count("env_steps", 1)


def test_notes_are_written_once_and_again_when_they_change(
    profiler: Profiler, clock: Any, tmp_path: Path
) -> None:
    recorder = Recorder(profiler, lambda: ShardWriter(tmp_path, "main", {"role": "main"}))
    seen: list[int] = []
    recorder.watch(lambda window: seen.append(window.last))
    recorder.note("stop_after", "60 s")
    for asked in (False, False, True):
        recorder.ask(lambda asked=asked: {"stop_reached": asked})  # type: ignore[misc]
        step(profiler, clock)
        profiler.close_window()
    assert recorder.finish({"reason": "exit", "code": 0})
    lines = (tmp_path / "main.jsonl").read_text().splitlines()
    assert sum('"stop_after"' in line for line in lines) == 1
    assert sum('"stop_reached"' in line for line in lines) == 2
    main = read_capture(tmp_path).main
    assert main.notes.stop_reached is True
    assert sum(window.counters.get("env_steps", 0) for window in main.windows) == 3
    assert main.end is not None
    assert len(seen) >= 3


def test_an_error_in_a_source_of_notes_costs_that_source_only(
    profiler: Profiler, clock: Any, tmp_path: Path
) -> None:
    recorder = Recorder(profiler, lambda: ShardWriter(tmp_path, "main", {"role": "main"}))
    recorder.ask(lambda: {}[1])
    recorder.note("stop_after", "60 s")
    step(profiler, clock)
    profiler.close_window()
    recorder.finish({})
    assert read_capture(tmp_path).main.notes.stop_after == "60 s"
    assert "KeyError" in profiler.core.failures["recorder: notes"]


def test_windows_wait_for_a_folder_that_cannot_be_written_to(
    profiler: Profiler, clock: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "later"
    recorder = Recorder(profiler, lambda: ShardWriter(folder, "main", {"role": "main"}))
    for _ in range(3):
        step(profiler, clock)
        profiler.close_window()
    assert capsys.readouterr().err.count("cannot be written") == 1
    folder.mkdir()
    step(profiler, clock)
    recorder.finish({})
    (window,) = read_capture(folder).main.windows[:1]
    assert window.counters["env_steps"] == 3


def test_a_process_that_does_nothing_leaves_no_shard(
    profiler: Profiler, clock: Any, tmp_path: Path
) -> None:
    recorder = Recorder(profiler, lambda: ShardWriter(tmp_path, "helper", {}))
    with profiler.profile("import"):
        clock.pass_ns(1_000_000)
    profiler.close_window()
    recorder.finish({})
    assert list(tmp_path.iterdir()) == []
