"""Both region clocks in threads, tasks of asyncio and forked children."""

from __future__ import annotations

import asyncio
import os
import threading
from types import ModuleType
from typing import Any

import pytest
from region_trees import Tree


def test_threads_have_trees_of_their_own(region_clock: ModuleType) -> None:
    tree = Tree(region_clock)
    inside, leave = threading.Barrier(5), threading.Barrier(5)

    def work() -> None:
        with tree.core.profile("work"), tree.core.profile("deep"):
            inside.wait()
            leave.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    inside.wait()
    with tree.core.profile("main only"):
        leave.wait()
        for thread in threads:
            thread.join()
    figures = tree.figures()
    assert figures["main only"]["calls"] == 1
    assert "main only/work" not in figures
    deep = {path: f["calls"] for path, f in figures.items() if path.endswith("/deep")}
    assert deep == {f"@{n}/work/deep": 1 for n in range(1, 5)}


def test_threads_that_come_and_go_share_a_root(region_clock: ModuleType) -> None:
    tree = Tree(region_clock)

    def work() -> None:
        with tree.core.profile("work"):
            pass

    calls = 0
    for _ in range(30):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        calls += sum(f["calls"] for p, f in tree.figures().items() if p.endswith("work"))
    assert calls == 30
    assert len(tree.core.nodes()) < 30


def test_a_thread_that_ends_inside_a_region_leaves_it_closed(region_clock: ModuleType) -> None:
    tree = Tree(region_clock)
    thread = threading.Thread(target=lambda: tree.core.region("left open").enter())
    thread.start()
    thread.join()
    figures = tree.figures()
    assert figures["@1/left open"]["calls"] == 1


def test_tasks_of_asyncio_do_not_nest_in_each_other(region_clock: ModuleType) -> None:
    tree = Tree(region_clock)

    async def task(name: str, gate: asyncio.Event) -> None:
        with tree.core.profile(name):
            await gate.wait()
            with tree.core.profile("inner"):
                await asyncio.sleep(0)

    async def main() -> None:
        gate = asyncio.Event()
        tasks = [asyncio.create_task(task(f"t{i % 10}", gate)) for i in range(1000)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)

    with tree.core.profile("loop"):
        asyncio.run(main())
    figures = tree.figures()
    tasks = {p: f["calls"] for p, f in figures.items() if f["calls"] and p != "loop"}
    expected = {f"loop/t{i}": 100 for i in range(10)}
    expected |= {f"loop/t{i}/inner": 100 for i in range(10)}
    assert tasks == expected
    assert tree.core.unmatched == 0
    # Whatever the tasks do, the thread's own time is shared out exactly once.
    assert sum(f["self"] for f in figures.values()) == pytest.approx(
        figures["loop"]["elapsed"] + figures.get("", {"self": 0})["self"], rel=1e-6
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_tasks_of_asyncio_leave_nothing_behind(region_clock: ModuleType) -> None:
    """Thousands of tasks that are inside a region at one time, and one that never leaves it."""
    tree = Tree(region_clock)
    region = tree.core.region("wait")
    kept = []

    async def wait() -> None:
        with region:
            for _ in range(3):
                await asyncio.sleep(0)

    async def never_leaves() -> None:
        region.enter()

    async def main() -> None:
        await asyncio.gather(*(wait() for _ in range(2000)), never_leaves())
        kept.append(tree.core.is_open("wait"))

    asyncio.run(main())
    assert kept == [False]
    assert tree.figures()["wait"]["calls"] in (2000, 2001)
    assert tree.core.unmatched == 0


def test_a_forked_child_counts_from_the_fork(region_clock: ModuleType, clock: Any) -> None:
    tree = Tree(region_clock, clock)
    read, write = os.pipe()
    with tree.core.profile("a"):
        pass
    with tree.core.profile("a"):
        clock.pass_ns(1000)
        child = os.fork()
        if child == 0:
            tree.core.after_fork()
            clock.pass_ns(7)
            tree.core.region("a").exit()
            figures = tree.figures()["a"]
            os.write(write, repr((figures["elapsed"], figures["histogram"])).encode())
            os._exit(0)
        os.waitpid(child, 0)
    assert os.read(read, 100) == b"(7, (7, 1))"
    assert tree.figures()["a"]["elapsed"] == 1000
