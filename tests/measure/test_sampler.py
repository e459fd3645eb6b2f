"""The sampler finds the right function in the right phase, and tells how it ran."""

from __future__ import annotations

import hashlib
import threading
import time
from types import ModuleType
from typing import Any

import pytest

PYTHON, NATIVE, WAITING, UNKNOWN = range(4)


def busy_python(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
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
    # Looking while the main thread is blocked costs it nothing.
    assert cost > 0 or all(mode != PYTHON for _, _, mode, _, _ in samples)
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
    assert max(modes, key=lambda mode: modes[mode]) == WAITING


def test_native_code_is_told_from_python() -> None:
    import pytest

    native = pytest.importorskip("hotloop.measure._native")
    seen, _ = sample(native, lambda core: (busy_python(0.4), busy_native(0.4)))
    python = {mode: ns for (_, f, mode), ns in seen.items() if f == "busy_python"}
    compiled = {mode: ns for (_, f, mode), ns in seen.items() if f == "busy_native"}
    # A machine with other work steals time from both; the order stays.
    assert compiled.get(NATIVE, 0) > compiled.get(PYTHON, 0)
    assert python.get(PYTHON, 0) / sum(python.values()) > compiled.get(PYTHON, 0) / sum(
        compiled.values()
    )


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
        busy_python(0.05)
        sampler.stop()
        assert sampler.drain()[0]
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
    assert wrong < 0.1 * inside  # it was half of it
