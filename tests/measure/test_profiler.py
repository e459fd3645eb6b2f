"""The profiler that programs use, over the real API."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from profiler_figures import phases

from hotloop import Profiler


def test_off_until_enabled(clock: Any) -> None:
    profiler = Profiler(clock=clock)
    assert not profiler.enabled
    with profiler.profile("a"):
        clock.pass_ns(10)
    profiler.enable()
    assert profiler.enabled
    with profiler.profile("b"):
        clock.pass_ns(10)
    assert set(phases(profiler)) == {"b"}


def test_report_follows_the_schema(profiler: Profiler, clock: Any) -> None:
    for _ in range(4):
        with profiler.profile("collect"), profiler.profile("env.step"):
            clock.pass_ns(1_000_000)
        profiler.count("env_steps", 2)
    report = json.loads(json.dumps(profiler.report()))
    assert report["schema"] == "hotloop.report/2"
    assert report["run"]["env_steps"] == 8
    phase = phases(profiler)["collect/env.step"]
    assert (phase["name"], phase["category"], phase["calls"]) == ("env.step", "Environment", 4)
    assert phase["total_s"] == pytest.approx(0.004)
    assert report["coverage"] == pytest.approx(1.0)


def test_figures_add_up_over_many_windows(profiler: Profiler, clock: Any) -> None:
    with profiler.profile("a"):
        for _ in range(5):
            clock.pass_ns(100)
            profiler.close_window()
    assert phases(profiler)["a"]["total_s"] == pytest.approx(500e-9)


def test_reset_forgets(profiler: Profiler, clock: Any) -> None:
    with profiler.profile("a"):
        clock.pass_ns(100)
        profiler.reset()
        clock.pass_ns(1)
    assert phases(profiler)["a"]["total_s"] == pytest.approx(1e-9)


def test_summary_is_a_table(profiler: Profiler, clock: Any) -> None:
    with profiler.profile("my operation"):
        clock.pass_ns(2_000_000)
    summary = profiler.summary()
    assert "my operation" in summary
    assert "2.00 ms" in summary


def test_category_and_names_with_slashes(profiler: Profiler, clock: Any) -> None:
    with profiler.profile("a/b%", category="Rendering"):
        clock.pass_ns(1)
    (phase,) = phases(profiler).values()
    assert (phase["name"], phase["category"]) == ("a/b%", "Rendering")


def test_steps_are_iterations(profiler: Profiler) -> None:
    profiler.step()
    profiler.step()
    assert profiler.report()["run"]["counters"]["iterations"] == 2


def test_importing_the_recording_side_is_light() -> None:
    """No heavy module comes with it; how many milliseconds it takes is a benchmark."""
    code = "import sys, hotloop, hotloop.run.session; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "torch", "asyncio", "multiprocessing", "argparse", "ctypes.util", "pstats"}
    assert not heavy & set(loaded.stdout.split())
    assert not any(
        m.startswith(("hotloop.analyze", "hotloop.report")) for m in loaded.stdout.split()
    )


def test_counts_that_are_not_finite_are_reported(profiler: Profiler) -> None:
    profiler.count("reward", float("nan"))
    profiler.count("reward", 2.0)
    counters = [profiler.close_window().counters for _ in range(2)]
    assert [each.get("damaged_values", 0) for each in counters] == [1, 0]


def test_a_gap_around_recognized_calls_does_not_make_them_inferred(profiler: Profiler) -> None:
    profiler.mark("buffer.sample", "inferred")
    profiler.mark("buffer.sample", "shape")
    profiler.mark("buffer.sample", "inferred")
    profiler.mark("learn.loss", "inferred")
    assert profiler.recognised == {"buffer.sample": "shape", "learn.loss": "inferred"}
