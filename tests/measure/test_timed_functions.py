"""`profile_function` on functions of every kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from profiler_figures import phases

from hotloop import Profiler


def test_plain(profiler: Profiler, clock: Any) -> None:
    @profiler.profile_function()
    def work(x: int) -> int:
        """Docs."""
        clock.pass_ns(5)
        return x + 1

    assert work(1) == 2
    assert work.__doc__ == "Docs."
    (path,) = phases(profiler)
    assert path.endswith("work")


def test_without_parentheses(profiler: Profiler) -> None:
    @profiler.profile_function
    def work() -> int:
        return 3

    assert work() == 3
    assert len(phases(profiler)) == 1


def test_coroutine_counts_its_waiting(profiler: Profiler, clock: Any) -> None:
    @profiler.profile_function("fetch")
    async def fetch() -> int:
        clock.pass_ns(5)
        await asyncio.sleep(0)
        clock.pass_ns(5)
        return 1

    assert asyncio.run(fetch()) == 1
    assert phases(profiler)["fetch"]["total_s"] == pytest.approx(10e-9)


def test_generator_counts_only_while_it_runs(profiler: Profiler, clock: Any) -> None:
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


def test_generator_passes_send_throw_close_and_return_on(profiler: Profiler) -> None:
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


def test_async_generator(profiler: Profiler, clock: Any) -> None:
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


def test_disabled_costs_no_figures(clock: Any) -> None:
    profiler = Profiler(clock=clock)

    @profiler.profile_function()
    def work() -> None:
        clock.pass_ns(1)

    work()
    assert profiler.report()["phases"] == []
