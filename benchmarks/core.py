"""The measuring core's table: `python -m benchmarks.core`.

Every row is a ratio within this run, measured in turn (a round of each before the next round of
any), the median of the rounds. Rows about memory, size and truth are counts, not times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROUNDS = 15
CALLS = 100_000


@dataclass
class Row:
    what: str
    reach: str
    measured: str
    reached: bool | None


def interleaved(candidates: dict[str, Callable[[int], None]], calls: int) -> dict[str, float]:
    """Nanoseconds a call of each, less an empty loop: the median over interleaved rounds."""

    def empty(n: int) -> None:
        for _ in range(n):
            pass

    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        empty(calls)
        nothing = time.perf_counter_ns() - begin
        for name, run in candidates.items():
            begin = time.perf_counter_ns()
            run(calls)
            times[name].append((time.perf_counter_ns() - begin - nothing) / calls)
    return {name: statistics.median(each) for name, each in times.items()}


def two_reads(n: int) -> None:
    clock = time.perf_counter_ns
    for _ in range(n):
        clock()
        clock()


def regions(core: Any) -> Callable[[int], None]:
    profile = core.profile

    def run(n: int) -> None:
        for _ in range(n):
            with profile("region"):
                pass

    return run


def wrapped(core: Any) -> Callable[[int], None]:
    call = core.region("wrapped").wrap(int)

    def run(n: int) -> None:
        for _ in range(n):
            call()

    return run


def peers() -> dict[str, Callable[[int], None]]:
    """The same empty region with what people use today, as far as it is installed."""
    found: dict[str, Callable[[int], None]] = {}
    try:
        from torchrl._utils import timeit

        def torchrl_timeit(n: int) -> None:
            for _ in range(n):
                with timeit("region"):
                    pass

        found["TorchRL timeit"] = torchrl_timeit
    except ImportError:
        pass
    try:
        from lightning.pytorch.profilers import SimpleProfiler

        simple = SimpleProfiler()

        def lightning(n: int) -> None:
            for _ in range(n):
                with simple.profile("region"):
                    pass

        found["Lightning SimpleProfiler"] = lightning
    except ImportError:
        pass
    try:
        from torch.profiler import record_function

        def torch_record(n: int) -> None:
            for _ in range(n):
                with record_function("region"):
                    pass

        found["torch record_function"] = torch_record
    except ImportError:
        pass
    return found


def cost_rows(native: ModuleType | None, twin: ModuleType) -> list[Row]:
    candidates: dict[str, Callable[[int], None]] = {"two reads": two_reads}
    cores = []
    for label, module in (("native", native), ("twin", twin)):
        if module is None:
            continue
        on, off = module.Core(), module.Core()
        on.enable()
        cores += [on, off]
        candidates[label] = regions(on)
        candidates[f"{label} off"] = regions(off)
        candidates[f"{label} wrapped"] = wrapped(on)
    candidates["int()"] = lambda n: [0 for _ in range(n)] and None
    candidates |= peers()
    ns = interleaved(candidates, CALLS // 5)
    reads = ns["two reads"]
    rows = [Row("two reads of the clock", "", f"{reads:.0f} ns", None)]
    for label, limit in (("native", 2.0), ("twin", 15.0)):
        if label in ns:
            ratio = ns[label] / reads
            text = f"{ratio:.2f} times ({ns[label]:.0f} ns)"
            rows.append(Row(f"one region, {label}", f"at most {limit} times", text, ratio <= limit))
    for label in ("native", "twin"):
        if label in ns:
            ratio = ns[f"{label} off"] / reads
            goal = 1.2 if label == "native" else None
            rows.append(
                Row(
                    f"one region while disabled, {label}",
                    "at most 1.2 times" if goal else "",
                    f"{ratio:.2f} times ({ns[f'{label} off']:.0f} ns)",
                    ratio <= goal if goal else None,
                )
            )
    best = ns.get("native", ns["twin"])
    for name in peers():
        rows.append(
            Row(
                f"one region against {name}",
                "faster",
                f"{ns[name] / best:.1f} times",
                best < ns[name],
            )
        )
    if "native" in ns:
        extra = ns["native wrapped"] - ns["int()"]
        rows.append(Row("a hooked function call, added", "", f"{extra:.0f} ns", None))
    return rows


def resident() -> int:
    from hotloop.measure.memory import resident_bytes

    return resident_bytes()


def memory_row(core_module: ModuleType, count: int) -> Row:
    core = core_module.Core()
    core.enable()
    run = regions(core)
    run(1_000_000)
    core.snapshot()
    before = resident()
    for _ in range(count // 1_000_000):
        run(1_000_000)
        core.snapshot()
    grown = (resident() - before) / 1e6
    return Row(
        f"resident memory after {count // 1_000_000} million regions",
        "grows by at most 1 MB",
        f"{grown:+.2f} MB",
        grown <= 1.0,
    )


def day_row(hours: float = 24.0, phases: int = 60) -> Row:
    """A day of windows through the real writer; the clock is injected, so it takes seconds."""
    import random

    from hotloop.analyze.processes.training import read_capture
    from hotloop.capture.window import PhaseDelta, Window
    from hotloop.capture.writer import ShardWriter

    random.seed(1)
    second = 1_000_000_000

    def phase(now: int, index: int) -> PhaseDelta:
        calls = 200 + index
        middle = 300 + 8 * (index % 30)
        buckets = {middle + i: calls // 12 for i in range(-6, 7)}
        buckets[middle + random.randrange(-40, 40)] = 1
        each = random.randrange(900_000, 1_100_000)
        return PhaseDelta(
            calls, calls * each, calls * each, each // 2, each * 3, 700_000_000, now, now + second,
            buckets,
        )  # fmt: skip

    with tempfile.TemporaryDirectory() as folder:
        writer = ShardWriter(Path(folder), "main", {"role": "main"})
        for number in range(int(hours * 3600)):
            now = number * second
            window = Window(number, number, now, now + second, loop_last_ns=now)
            window.phases = {f"collect/phase {i:02d}": phase(now, i) for i in range(phases)}
            window.counters = {"env_steps": 1000, "episodes": 3, "gradient_steps": 40}
            window.gauges = {"resident": 7e8, "resident_peak": 7e8, "sampler_ns": 300_000}
            window.samples = {
                (f"collect/phase {i:02d}", random.randrange(400), 0): [1, 10_000_000]
                for i in range(60)
            }
            writer.window(window)
        writer.close()
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        windows = len(read_capture(folder).main.windows)
    return Row(
        f"capture of a simulated {hours:g}-hour run with {phases} phases",
        "at most 20 MB",
        f"{size:.1f} MB in {windows} windows",
        size <= 20,
    )


SHARES = """
import time
from hotloop import profile

def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

PARTS = {"env.step": 0.004, "policy.act": 0.002, "buffer.add": 0.0005, "learn": 0.0035}
spent = dict.fromkeys(PARTS, 0.0)
begin = time.perf_counter()
while time.perf_counter() - begin < 5:
    for name, seconds in PARTS.items():
        with profile(name):
            start = time.perf_counter()
            busy(seconds)
            spent[name] += time.perf_counter() - start
total = sum(spent.values())
print({name: seconds / total for name, seconds in spent.items()})
"""


def share_row() -> Row:
    """Busy loops of known length through `hotloop run`; the truth is the program's own clock."""
    import ast
    import json

    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "hotloop",
            "run",
            "-q",
            "-o",
            f"{folder}/cap",
            "-c",
            SHARES,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        truth = ast.literal_eval(done.stdout)
        shown = subprocess.run(
            [sys.executable, "-m", "hotloop", "report", f"{folder}/cap", "--format", "json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    phases = {p["name"]: p["share"] for p in json.loads(shown.stdout)["phases"]}
    worst = max(abs(phases[name] - share) for name, share in truth.items())
    return Row(
        "true share of phases built from busy loops",
        "within 1 percentage point",
        f"{worst * 100:.2f} points off at most",
        worst <= 0.01,
    )


def correction_row() -> Row:
    """A loop with regions of a microsecond, corrected, against the same loop without them."""
    from hotloop import Profiler
    from hotloop.measure.calibrate import measure_cost

    def work() -> None:
        # About a microsecond, whatever the machine.
        sum(range(40))

    def plain(n: int) -> int:
        begin = time.perf_counter_ns()
        for _ in range(n):
            work()
        return time.perf_counter_ns() - begin

    errors, raw = [], []
    for _ in range(ROUNDS):
        cost = measure_cost()
        profiler = Profiler()
        profiler.enable()
        profile = profiler.profile
        before = plain(CALLS)
        with profile("loop"):
            for _ in range(CALLS):
                with profile("work"):
                    work()
        after = plain(CALLS)
        window = profiler.close_window()
        measured = window.phases["loop"].elapsed_ns
        corrected = measured - CALLS * cost.total_ns
        truth = (before + after) / 2
        errors.append(corrected / truth - 1)
        raw.append(measured / truth - 1)
    error = statistics.median(errors)
    return Row(
        "corrected total of a loop with 1 µs regions",
        "within 5% of the loop without",
        f"{error:+.1%} (uncorrected {statistics.median(raw):+.1%})",
        abs(error) <= 0.05,
    )


def resting_row(native: ModuleType) -> Row:
    """What three hooked calls add to a loop of nothing else, measuring and between stretches."""

    def act(value: int) -> int:
        return value

    def step(value: int) -> int:
        return value

    def collect(n: int) -> None:
        for _ in range(n):
            act(1)
            step(2)
            act(3)

    def best(n: int = 2000) -> float:
        times = []
        for _ in range(200):
            begin = time.perf_counter_ns()
            collect(n)
            times.append((time.perf_counter_ns() - begin) / n)
        return min(times)

    plain = best()
    core = native.Core()
    hooks = {"policy.act": act, "env.step": step, "collect": collect}
    detach = [core.attach(each, core.region(name).wrap) for name, each in hooks.items()]
    core.enable()
    measuring = best() - plain
    core.stretches("collect", 0, 1, 10**9, list(hooks), frozenset())
    collect(1)
    collect(1)
    assert core.resting
    resting = best() - plain
    core.disable()
    for each in detach:
        each()
    text = f"+{resting:.0f} ns (+{measuring:.0f} ns while measuring; {plain:.0f} ns without hooks)"
    return Row("three hooked calls between stretches", "at most +20 ns", text, resting <= 20)


def import_row() -> Row:
    """What importing the recording side adds to an interpreter's start, in CPU time."""

    def children_s() -> float:
        times = os.times()
        return times.children_user + times.children_system

    added = []
    for _ in range(ROUNDS):
        spent = []
        for code in ("pass", "import hotloop.run.session"):
            begin = children_s()
            for _ in range(4):  # the system counts in hundredths of a second
                subprocess.run([sys.executable, "-c", code], check=True)
            spent.append((children_s() - begin) / 4)
        added.append((spent[1] - spent[0]) * 1000)
    middle = statistics.median(added)
    return Row("importing the recording side", "under 30 ms", f"{middle:.0f} ms", middle < 30)


def table(rows: list[Row]) -> str:
    lines = ["| what | reach | measured | |", "|---|---|---|---|"]
    for row in rows:
        mark = {True: "yes", False: "NO", None: ""}[row.reached]
        lines.append(f"| {row.what} | {row.reach} | {row.measured} | {mark} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--regions", type=int, default=50_000_000, help="for the memory row")
    options = parser.parse_args()
    from hotloop.measure import twin

    try:
        from hotloop.measure import _native as native
    except ImportError:
        native = None  # type: ignore[assignment]
    rows = cost_rows(native, twin)
    rows += [resting_row(native)] if native is not None else []
    rows += [import_row(), correction_row(), share_row(), day_row()]
    rows.append(memory_row(native or twin, options.regions))
    print(table(rows))
    return 0 if all(row.reached is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
