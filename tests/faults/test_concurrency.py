"""Threads, forks, tasks, destructors, signal handlers and the interpreter's end, all in one program.

The program knows how often it was where; the capture must say the same, and the times of its main
thread must add up to what passed. (`tests/measure/test_regions.py` has each of these alone, with a
clock that the test sets.)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hotloop.analyze.processes.training import read_capture
from hotloop.capture.window import Window, merged

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and signals of Unix")

PROGRAM = """
import asyncio, atexit, gc, json, os, signal, sys, threading, time
from collections import Counter
from hotloop import count, profile

THREADS, ROUNDS, TASKS = 64, 100, 1000
said = Counter()

class Dies:
    def __init__(self):
        self.me = self
    def __del__(self):
        with profile("destructor"), profile("inner"):
            said["destructor"] += 1

def in_thread(start):
    start.wait()
    for number in range(ROUNDS):
        with profile("threaded"):
            with profile("inner"):
                count("in threads")
        if number % 10 == 0:
            Dies()

def threads():
    start = threading.Barrier(THREADS)
    running = [threading.Thread(target=in_thread, args=(start,)) for _ in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    said["threaded"] += THREADS * ROUNDS

async def task(number):
    with profile(f"task {number % 10}"):
        await asyncio.sleep(0)
        with profile("awaited"):
            await asyncio.sleep(0.001)
    said["awaited"] += 1

async def tasks():
    await asyncio.gather(*(task(number) for number in range(TASKS)))

def on_signal(*_):
    with profile("handler"):
        said["handler"] += 1

def signals():
    signal.signal(signal.SIGALRM, on_signal)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    end = time.perf_counter() + 1.5
    while time.perf_counter() < end:
        with profile("interrupted"):
            said["interrupted"] += 1
    signal.setitimer(signal.ITIMER_REAL, 0)

def forks():
    for number in range(5):
        with profile("before the fork"):
            child = os.fork()
            if child == 0:
                with profile("in the child"):
                    count("in children")
        if child == 0:
            with profile("after the fork"):
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        said["before the fork"] += 1
    # From a thread that is not the main one.
    def from_a_thread():
        with profile("forks in a thread"):
            child = os.fork()
            if child == 0:
                with profile("in the child"):
                    count("in children")
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread = threading.Thread(target=from_a_thread)
    thread.start()
    thread.join()
    said["forks in a thread"] += 1

def for_ever():
    while True:
        with profile("until the end"):
            time.sleep(0.001)

with profile("collect"):
    threads()
    asyncio.run(tasks())
    signals()
    forks()
    with profile("freeing"):
        gc.collect()
    while said["destructor"] < THREADS * ROUNDS // 10:
        gc.collect()

# What is still there as the interpreter ends.
at_the_end = Dies()
threading.Thread(target=for_ever, daemon=True).start()
def leave():
    with profile("at exit"):
        said["at exit"] += 1
        with open("said.json", "w") as file:
            json.dump(said, file)
atexit.register(leave)
print("done")
"""


def calls(windows: list[Window]) -> Counter[str]:
    """How often each name was entered, wherever."""
    total: Counter[str] = Counter()
    whole = merged(windows)
    assert whole is not None
    for path, delta in whole.phases.items():
        total[path.rpartition("/")[2]] += delta.calls
    return total


def check_times(windows: list[Window]) -> None:
    """The main thread's nodes add up to the time that passed, without hotloop's own work. (What
    hotloop does when the loop begins is excluded: it is in the first two windows.)"""
    assert len(windows) > 2
    for window in windows[2:]:
        passed = window.end_ns - window.begin_ns
        own = sum(d.self_ns for path, d in window.phases.items() if not path.startswith("@"))
        looks = window.gauges.get("sampler_ns", 0)
        assert 0.98 * passed - 2_000_000 <= own + looks
        assert own <= passed * 1.001 + 1_000_000


@pytest.mark.parametrize("clock", ["native", "twin"])
def test_the_figures_add_up(clock: str, tmp_path: Path, full: bool, say) -> None:
    times = 20 if full else 1
    entered = 0
    (tmp_path / "train.py").write_text(PROGRAM)
    for number in range(times):
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-m", "hotloop", "run", "-q", "-o", f"cap-{number}", "train.py"],
            cwd=tmp_path, capture_output=True, text=True, timeout=120,
            env={**os.environ, **({"HOTLOOP_PURE": "1"} if clock == "twin" else {})},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
        said = json.loads((tmp_path / "said.json").read_text())
        capture = read_capture(tmp_path / f"cap-{number}")
        assert capture.damaged == 0
        assert capture.main.header.native == (clock == "native")
        seen = calls(capture.main.windows)
        for name, expected in said.items():
            assert seen[name] == expected, f"{name}: {seen[name]} of {expected}"
        whole = merged(capture.main.windows)
        assert whole is not None
        assert whole.counters["in threads"] == said["threaded"]
        check_times(capture.main.windows)
        children = capture.shards[1:]
        assert len(children) == 6
        for child in children:
            counted = calls(child.windows)
            assert counted["in the child"] == 1
            assert merged(child.windows).counters == {"in children": 1}
        entered += sum(seen.values())
    say(
        f"concurrency ({clock}), {times} runs: 64 threads, 1,000 tasks, 6 forks, signal handlers, "
        f"destructors, exit: {entered:,} calls, as many as the program made; no crash"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="makes threads in Linux's way")
def test_no_thread_is_taken_for_dead(full: bool, say) -> None:
    """A thread that native code makes is in Python's list before the list is whole again."""
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(Path(__file__).with_name("stress.py")),
         native.__file__, "60" if full else "1", "native-threads"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    say(f"threads from native code: {done.stdout.strip()}")
