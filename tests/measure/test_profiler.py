"""The profiler that programs use, over the real API."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from hotloop import Profiler


@pytest.fixture
def profiler(clock: Any) -> Profiler:
    profiler = Profiler(clock=clock)
    profiler.enable()
    return profiler


def phases(profiler: Profiler) -> dict[str, dict[str, Any]]:
    return {phase["path"]: phase for phase in profiler.report()["phases"]}


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


class TestProfileFunction:
    def test_plain(self, profiler: Profiler, clock: Any) -> None:
        @profiler.profile_function()
        def work(x: int) -> int:
            """Docs."""
            clock.pass_ns(5)
            return x + 1

        assert work(1) == 2
        assert work.__doc__ == "Docs."
        (path,) = phases(profiler)
        assert path.endswith("work")

    def test_without_parentheses(self, profiler: Profiler) -> None:
        @profiler.profile_function
        def work() -> int:
            return 3

        assert work() == 3
        assert len(phases(profiler)) == 1

    def test_coroutine_counts_its_waiting(self, profiler: Profiler, clock: Any) -> None:
        @profiler.profile_function("fetch")
        async def fetch() -> int:
            clock.pass_ns(5)
            await asyncio.sleep(0)
            clock.pass_ns(5)
            return 1

        assert asyncio.run(fetch()) == 1
        assert phases(profiler)["fetch"]["total_s"] == pytest.approx(10e-9)

    def test_generator_counts_only_while_it_runs(self, profiler: Profiler, clock: Any) -> None:
        @profiler.profile_function("batches")
        def batches() -> Iterator[int]:
            for i in range(3):
                clock.pass_ns(10)
                received = yield i
                assert received is None
            return

        for _ in batches():
            clock.pass_ns(1000)
        phase = phases(profiler)["batches"]
        assert phase["total_s"] == pytest.approx(30e-9)
        assert phase["calls"] == 4

    def test_generator_passes_send_throw_close_and_return_on(self, profiler: Profiler) -> None:
        log: list[Any] = []

        @profiler.profile_function("g")
        def g() -> Any:
            try:
                log.append((yield 1))
                try:
                    yield 2
                except KeyError:
                    yield "caught"
                return "returned"
            finally:
                log.append("closed")

        generator = g()
        assert next(generator) == 1
        assert generator.send("sent") == 2
        assert generator.throw(KeyError()) == "caught"
        with pytest.raises(StopIteration) as stop:
            next(generator)
        assert stop.value.value == "returned"
        other = g()
        next(other)
        other.close()
        assert log == ["sent", "closed", "closed"]

    def test_async_generator(self, profiler: Profiler, clock: Any) -> None:
        @profiler.profile_function("stream")
        async def stream() -> AsyncIterator[int]:
            for i in range(3):
                clock.pass_ns(10)
                yield i

        async def main() -> list[int]:
            seen = []
            async for item in stream():
                clock.pass_ns(1000)
                seen.append(item)
            return seen

        assert asyncio.run(main()) == [0, 1, 2]
        assert phases(profiler)["stream"]["total_s"] == pytest.approx(30e-9)

    def test_disabled_costs_no_figures(self, clock: Any) -> None:
        profiler = Profiler(clock=clock)

        @profiler.profile_function()
        def work() -> None:
            clock.pass_ns(1)

        work()
        assert profiler.report()["phases"] == []


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
