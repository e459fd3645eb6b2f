"""The sampler finds the right function in the right phase, and tells how it ran."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PYTHON, NATIVE, WAITING, UNKNOWN, LOCK, CORE, IO, SLEEPING = range(8)
BLOCKED = (WAITING, LOCK, IO, SLEEPING)


def busy_python(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(1000):  # asking for the time is native code, and slower than an iteration
            pass


def busy_native(seconds: float) -> None:
    block = bytes(2_000_000)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        hashlib.sha256(block).digest()


def waiting(seconds: float) -> None:
    time.sleep(seconds)


def sample(module: ModuleType, work: Any) -> tuple[dict[tuple[str, str, int], int], float]:
    """((phase, function, mode) -> ns, seconds that it took)."""
    core = module.Core()
    core.enable()
    sampler = module.Sampler(core, 2_000_000)
    sampler.start()
    begin = time.perf_counter()
    work(core)
    took = time.perf_counter() - begin
    sampler.stop()
    samples, stacks, cost, resident, peak = sampler.drain()
    names = {node: name for node, _, name, _ in core.nodes()}
    functions = {row[0]: row[3] for row in stacks}
    assert cost == 0 or module.__name__.endswith("twin")  # the native one takes nothing from it
    assert peak >= resident > 0
    seen: dict[tuple[str, str, int], int] = {}
    for node, stack, mode, _, ns in samples:
        key = (names[node] or "", functions[stack], mode)
        seen[key] = seen.get(key, 0) + ns
    return seen, took


def time_in(seen: dict[tuple[str, str, int], int], phase: str, function: str) -> float:
    return sum(ns for (p, f, _), ns in seen.items() if (p, f) == (phase, function)) / 1e9


def test_functions_are_found_in_their_phases(region_clock: ModuleType) -> None:
    def work(core: Any) -> None:
        with core.profile("first"):
            busy_python(0.3)
        with core.profile("second"):
            busy_native(0.3)

    seen, took = sample(region_clock, work)
    assert time_in(seen, "first", "busy_python") > 0.2
    assert time_in(seen, "second", "busy_native") > 0.2
    # Threads that earlier tests have left are seen too, in no phase of these.
    assert sum(ns for (phase, _, _), ns in seen.items() if phase) / 1e9 <= took + 0.1


def test_waiting_is_told_from_running(region_clock: ModuleType) -> None:
    seen, _ = sample(region_clock, lambda core: waiting(0.4))
    modes = {mode: ns for (_, f, mode), ns in seen.items() if f == "waiting"}
    assert max(modes, key=lambda mode: modes[mode]) in (WAITING, SLEEPING)


@pytest.mark.real_time
def test_native_code_is_told_from_python() -> None:
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    seen, _ = sample(native, lambda core: (busy_python(2.0), busy_native(2.0)))
    python = {mode: ns for (_, f, mode), ns in seen.items() if f == "busy_python"}
    compiled = {mode: ns for (_, f, mode), ns in seen.items() if f == "busy_native"}
    # Waiting for a core is its own state, so the rest holds on a busy machine too.
    assert compiled.get(NATIVE, 0) > 2 * compiled.get(PYTHON, 0)
    assert python.get(PYTHON, 0) > 2 * python.get(NATIVE, 0)
    assert not any(modes.get(mode) for modes in (python, compiled) for mode in BLOCKED)


def busy_short_calls(seconds: float) -> None:
    short = bytes(4_000)  # some 5 us
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(100):
            hashlib.sha256(short)


@pytest.mark.real_time
def test_native_calls_of_microseconds_are_native() -> None:
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    seen, _ = sample(native, lambda core: busy_short_calls(2.0))
    modes = {mode: ns for (_, f, mode), ns in seen.items() if f == "busy_short_calls"}
    assert modes.get(NATIVE, 0) > 6 * modes.get(PYTHON, 0)


def busy_in_bursts(cpu_s: float) -> None:
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        burst = min(time.thread_time() + 0.0005, end)
        while time.thread_time() < burst:
            pass
        time.sleep(0.0005)


@pytest.mark.real_time
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="CPU clocks of other threads")
def test_a_thread_that_wakes_up_often_runs_for_as_long_as_its_clock_says() -> None:
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    seen, _ = sample(native, lambda core: busy_in_bursts(0.5))
    ran = sum(ns for (*_, mode), ns in seen.items() if mode in (PYTHON, NATIVE)) / 1e9
    assert ran == pytest.approx(0.5, rel=0.2)


def sampled_stacks(work: Any) -> list[tuple[list[str], int]]:
    """(functions from the inside out, ns) of each stack seen."""
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    core = native.Core()
    core.enable()
    sampler = native.Sampler(core, 1_000_000)
    sampler.start()
    work()
    sampler.stop()
    samples, stacks, *_ = sampler.drain()
    rows = {row[0]: (row[1], row[3]) for row in stacks}
    found = []
    for _, stack, _, _, ns in samples:
        names = []
        while stack:
            stack, name = rows[stack]
            names.append(name)
        found.append((names, ns))
    return found


def share_within(stacks: list[tuple[list[str], int]], inner: str, outer: str) -> float:
    """Of the time of stacks that contain `inner`, the share of those that contain `outer` too."""
    inside = [(names, ns) for names, ns in stacks if any(inner in name for name in names)]
    return sum(ns for names, ns in inside if outer in names) / sum(ns for _, ns in inside)


def descend(depth: int) -> None:
    if depth:
        descend(depth - 1)
    else:
        busy_python(0.3)


def far_below() -> None:
    descend(700)


def test_both_ends_of_a_deep_stack_are_kept() -> None:
    stacks = sampled_stacks(far_below)
    assert share_within(stacks, "busy_python", "far_below") == 1


def count_up(n: int) -> Iterator[int]:
    yield from range(n)


def relay(n: int) -> Iterator[int]:
    for i in count_up(n):
        yield i + 1


def consume_generators() -> None:
    end = time.perf_counter() + 1.0
    while time.perf_counter() < end:
        sum(relay(1000))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames do not tell who owns them")
def test_a_generator_is_seen_with_its_caller() -> None:
    assert share_within(sampled_stacks(consume_generators), "relay", "consume_generators") > 0.95


def test_a_thread_is_seen_while_the_main_thread_is_blocked(region_clock: ModuleType) -> None:
    def work(core: Any) -> None:
        thread = threading.Thread(target=busy_python, args=(0.5,))
        thread.start()
        thread.join()

    seen, _ = sample(region_clock, work)
    assert sum(ns for (_, f, _), ns in seen.items() if f == "busy_python") / 1e9 > 0.2


def test_memory_peaks_reach_the_phase(region_clock: ModuleType) -> None:
    core = region_clock.Core()
    core.enable()
    sampler = region_clock.Sampler(core, 1_000_000)
    sampler.start()
    with core.profile("small"):
        waiting(0.1)
    with core.profile("big"):
        block = bytearray(150_000_000)
        waiting(0.1)
        del block
    sampler.stop()
    names = {node: name for node, _, name, _ in core.nodes()}
    peaks = {names[row[0]]: row[9] for row in core.snapshot()[1]}
    assert peaks["big"] - peaks["small"] > 140_000_000


def test_it_can_be_stopped_and_started_again(region_clock: ModuleType) -> None:
    core = region_clock.Core()
    sampler = region_clock.Sampler(core, 1_000_000)
    for _ in range(3):
        sampler.start()
        end = time.perf_counter() + 20
        while time.perf_counter() < end and not sampler.drain()[0]:
            busy_python(0.02)
        assert time.perf_counter() < end
        sampler.stop()
        sampler.drain()
    busy_python(0.02)
    assert sampler.drain()[0] == []


def in_first(n: int) -> int:
    return sum(range(n))


def in_second(n: int) -> int:
    return len([i + 1 for i in range(n)])


RIGHT = {("first", "in_first"), ("second", "in_second")}


def test_code_of_one_phase_is_never_in_the_next() -> None:
    """Phases of some microseconds: by the time that a thread looks at itself it is elsewhere."""

    def work(core: Any) -> None:
        first, second = core.region("first"), core.region("second")
        one, two = first.wrap(in_first), second.wrap(in_second)
        end = time.perf_counter() + 1.5
        while time.perf_counter() < end:
            for _ in range(100):
                one(60)
                two(60)

    # The twin's thread looks from outside, whenever it gets the GIL.
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    seen, _ = sample(native, work)
    ours = [(p, f.partition(".")[0], ns) for (p, f, _), ns in seen.items()]
    # Some are seen as their phase ends, in the function that has called them.
    inside = sum(ns for p, _, ns in ours if p in ("first", "second"))
    wrong = sum(ns for p, f, ns in ours if f in ("in_first", "in_second") and (p, f) not in RIGHT)
    assert inside > 1e8
    assert wrong < 0.03 * inside


# -- what it must survive --


def native() -> ModuleType:
    module: ModuleType = pytest.importorskip("hotloop.measure._native", reason="nothing compiled")
    return module


def calls_many_threads(core: Any) -> None:
    end = threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(64)]
    for thread in threads:
        thread.start()
    busy_python(0.5)
    end.set()
    for thread in threads:
        thread.join()


def test_64_threads_are_sampled_and_wait_for_their_lock() -> None:
    seen, took = sample(native(), calls_many_threads)
    wait = "Condition.wait" if sys.version_info >= (3, 11) else "wait"  # 3.10: no qualified names
    waiting_s = sum(ns for (_, f, mode), ns in seen.items() if f == wait and mode == LOCK)
    assert waiting_s / 1e9 > 64 * took / 4
    assert time_in(seen, "", "busy_python") > 0.3


def test_threads_and_code_may_end_at_any_moment() -> None:
    def work(core: Any) -> None:
        end = time.perf_counter() + 1.0
        number = 0
        while time.perf_counter() < end:
            number += 1
            made: dict[str, Any] = {}
            exec(f"def made_{number}(n):\n    return [i for i in range(n)]", made)
            thread = threading.Thread(target=made[f"made_{number}"], args=(200,))
            thread.start()
            made[f"made_{number}"](200)
            thread.join()

    core = native().Core()
    core.enable()
    sampler = native().Sampler(core, 50_000)
    sampler.start()
    work(core)
    figures = sampler.figures()
    sampler.stop()
    assert figures["taken"] > 500
    assert figures["dropped"] < 0.01 * figures["taken"]


def test_a_forked_child_samples_anew() -> None:
    core = native().Core()
    core.enable()
    sampler = native().Sampler(core, 1_000_000)
    sampler.start()
    busy_python(0.1)
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            core.after_fork()
            sampler.after_fork()
            sampler.start()
            busy_python(0.3)
            sampler.stop()
            samples, stacks = sampler.drain()[:2]
            known = {row[0] for row in stacks}
            failed = 0 if samples and all(row[1] in known for row in samples) else 2
        finally:
            os._exit(failed)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    sampler.stop()
    assert sampler.drain()[0]


def test_a_program_that_ends_without_stopping_it() -> None:
    program = (
        "import threading, time\n"
        "from hotloop.measure import _native as n\n"
        "core = n.Core(); core.enable()\n"
        "sampler = n.Sampler(core, 20_000); sampler.start()\n"
        "threading.Thread(target=time.sleep, args=(10,), daemon=True).start()\n"
        "time.sleep(0.2)\n"
    )
    native()
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", program], timeout=60)
    assert done.returncode == 0


def test_no_signal_reaches_its_thread() -> None:
    sampler = native().Sampler(native().Core(), 10_000_000)
    sampler.start()
    busy_python(0.1)  # the thread names itself when it begins to run
    try:
        tasks = Path("/proc/self/task")
        names = {task: (task / "comm").read_text().strip() for task in tasks.iterdir()}
        (own,) = [task for task, name in names.items() if name == "hotloop-sampler"]
        blocked = re.search(r"SigBlk:\s*(\w+)", (own / "status").read_text())
        assert blocked is not None
        assert int(blocked[1], 16) & (1 << (signal.SIGTERM - 1) | 1 << (signal.SIGCHLD - 1))
    finally:
        sampler.stop()


def test_descriptors_that_the_program_closes_are_not_read_again() -> None:
    """Programs that become daemons close every descriptor; the numbers are others' then."""
    core = native().Core()
    sampler = native().Sampler(core, 1_000_000)
    before = set(os.listdir("/proc/self/fd"))
    sampler.start()
    busy_python(0.1)
    for number in map(int, set(os.listdir("/proc/self/fd")) - before):
        with contextlib.suppress(OSError):
            os.close(number)
    busy_python(0.1)
    sampler.stop()
    assert sampler.drain()[3] > 0
    assert set(os.listdir("/proc/self/fd")) <= before
