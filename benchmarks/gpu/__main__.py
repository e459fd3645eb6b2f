"""What must hold on a real GPU: `python -m benchmarks.gpu [--json FILE]`.

Runs in under ten minutes with nothing but the project's files and the torch that is found. Every
program is run in a process of its own and times its own loop; with hotloop and without it they take
turns, an iteration each. Prints one table: what was measured, what is asked, whether it holds.

`python -m benchmarks.gpu --causes --out FOLDER` compares findings and predicted gains instead: see
`causes.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu import causes, critical

PROGRAMS = Path(__file__).parent / "programs"

#: Spans that the program sets itself in its full trace, which hotloop finds without help.
COMPARED = ("policy.act", "learn.forward", "learn.backward", "learn.optimizer")


@dataclass
class Row:
    """One line of the table."""

    what: str
    asked: str
    measured: str
    holds: bool


class Bench:
    """Runs programs, with hotloop and without, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs = 0

    def plain(self, program: str, *arguments: str) -> tuple[float, str]:
        """Seconds of the program's own loop, and its output."""
        return _finish(self._start([str(PROGRAMS / program), *arguments]))

    def hotloop(self, options: list[str], program: str, *arguments: str) -> Measured:
        """The same under hotloop, and its report."""
        command, capture = self._under(options)
        seconds, output = _finish(self._start([*command, str(PROGRAMS / program), *arguments]))
        return Measured(seconds, output, _report(capture))

    def in_turns(
        self, against: list[str] | None, program: str, *arguments: str
    ) -> tuple[list[float], Measured]:
        """Two at once, an iteration each in turn: the seconds of the first one's turns.

        The second runs under hotloop; the first under hotloop with other options, or alone.
        """
        first, second = os.pipe(), os.pipe()
        os.write(first[1], b"x")
        script = str(PROGRAMS / program)
        turns = (f"{first[0]},{second[1]}", f"{second[0]},{first[1]}")
        command, capture = self._under(["--gpu", "windows"])
        keep = (first[0], second[1]), (second[0], first[1])
        under = self._under(against)[0] if against is not None else []
        alone = self._start([*under, script, *arguments, "--turns", turns[0]], keep[0])
        beside = self._start([*command, script, *arguments, "--turns", turns[1]], keep[1])
        for end in (*first, *second):
            os.close(end)
        # Both write little before they end, so that neither waits for a reader.
        _, output = _finish(alone)
        _, measured = _finish(beside)
        return _turns(output), Measured(sum(_turns(measured)), measured, _report(capture))

    def _under(self, options: list[str]) -> tuple[list[str], Path]:
        self._runs += 1
        capture = self.folder / f"capture-{self._runs}"
        return ["-m", "hotloop", "run", "-q", "-o", str(capture), *options], capture

    def _start(self, arguments: list[str], keep: tuple[int, ...] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            pass_fds=keep,
        )


def _finish(process: subprocess.Popen[str]) -> tuple[float, str]:
    output, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{process.args!r} failed:\n{errors[-3000:]}")
    match = re.search(r"^loop ([\d.]+)$", output, re.MULTILINE)
    return (float(match[1]) if match else 0.0), output


def _turns(output: str) -> list[float]:
    match = re.search(r"^turns (.*)$", output, re.MULTILINE)
    assert match is not None
    return [float(each) for each in json.loads(match[1])]


def _report(capture: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@dataclass
class Measured:
    """A run with hotloop: its own loop's time, and hotloop's report."""

    seconds: float
    output: str
    report: dict[str, Any]

    def findings(self) -> list[str]:
        loud = ("critical", "warning")
        return [f["id"] for f in self.report["findings"] if f["severity"] in loud]


DEVICE_FINDINGS = frozenset(
    [
        "device-unused",
        "small-work-on-gpu",
        "launch-bound",
        "sync-per-step",
        "host-transfers",
        "pageable-copies",
        "tf32-off",
        "mixed-precision-no-gain",
    ]
)


# -- rows --


#: Turns at the beginning that are left out: the last kernels are loaded then.
WARM_UP = 3


def cost_and_total(pairs: list[tuple[list[float], Measured]]) -> list[Row]:
    """Loop time against plain, and what hotloop says the loop would have taken without it."""
    alone = [each for plain, _ in pairs for each in plain[WARM_UP:]]
    beside = [each for _, run in pairs for each in _turns(run.output)[WARM_UP:]]
    ratio = sum(beside) / sum(alone)
    low, high = _interval(alone, beside)
    without = sum(sum(plain) for plain, _ in pairs)
    said = sum(_training(run) for _, run in pairs)
    return [
        Row(
            "loop time with `--gpu windows` against without hotloop, interleaved",
            "at most 1.03",
            f"{ratio:.3f} (95% interval {low:.3f} to {high:.3f}, {len(alone)} turns of an "
            "iteration each)",
            ratio <= 1.03,
        ),
        Row(
            "total after correction against the run without hotloop",
            "within 2%",
            f"{said:.2f} s against {without:.2f} s ({said / without - 1:+.1%})",
            abs(said / without - 1) <= 0.02,
        ),
    ]


def windows_alone(pair: tuple[list[float], Measured]) -> Row:
    """What recording the device costs beside everything else that hotloop does."""
    off, windows = pair[0][WARM_UP:], _turns(pair[1].output)[WARM_UP:]
    low, high = _interval(off, windows)
    ratio = sum(windows) / sum(off)
    return Row(
        "of that, `--gpu windows` against `--gpu off`, interleaved",
        "at most 1.02",
        f"{ratio:.3f} (95% interval {low:.3f} to {high:.3f}, {len(off)} turns)",
        ratio <= 1.02,
    )


def _training(run: Measured) -> float:
    """What hotloop says the loop took, without waiting for the other's turns."""
    waits = sum(p["total_s"] for p in run.report["phases"] if p["path"] == "wait")
    return float(run.report["run"]["loop_s"] - waits)


def _interval(alone: list[float], beside: list[float]) -> tuple[float, float]:
    """A 95% percentile bootstrap over turns, each with its neighbour."""
    draw = random.Random(0)
    ratios = []
    for _ in range(2000):
        chosen = draw.choices(range(len(alone)), k=len(alone))
        ratios.append(sum(beside[i] for i in chosen) / sum(alone[i] for i in chosen))
    ratios.sort()
    return ratios[50], ratios[1949]


def kernel_time(truth: dict[str, float], runs: list[Measured]) -> Row:
    """Kernel time by phase, from recordings of a hundredth of the time, against a full trace."""
    parts, worst = [], 0.0
    for name in COMPARED:
        said = statistics.median(_kernels(run, name) for run in runs)
        error = said / truth[name] - 1 if truth.get(name) else float("inf")
        worst = max(worst, abs(error))
        parts.append(f"{name} {said:.3f} s against {truth.get(name, 0.0):.3f} s ({error:+.1%})")
    whole = statistics.median(run.report["device"]["kernel_s"] for run in runs)
    error = whole / sum(truth.values()) - 1
    parts.append(f"all {whole:.3f} s against {sum(truth.values()):.3f} s ({error:+.1%})")
    return Row(
        "kernel time by phase against a full Kineto trace",
        "within 5%",
        "; ".join(parts),
        max(worst, abs(error)) <= 0.05,
    )


def _kernels(run: Measured, name: str) -> float:
    phases = run.report["device"]["phases"]
    return float(sum(p["kernel_s"] for p in phases if name in p["path"].split("/")))


def transfers(run: Measured, steps: int) -> Row:
    """Exact counts, right file and line."""
    source = (PROGRAMS / "push_loop.py").read_text().splitlines()
    marks = {"state": ".cpu()", "following": ".cpu()"}
    marks |= {"action": ".item()", "reward": ".item()", "ended": ".item()"}
    lines = {i + 1: text.rpartition("# ")[2] for i, text in enumerate(source) if "[i]." in text}
    found = {
        row["line"]: (row["what"], row["transfers"], row["syncs"])
        for row in run.report["transfers"]
        if row["file"].endswith("push_loop.py") and row["line"] in lines
    }
    expected = {line: (marks[name], 256 * steps, 256 * steps) for line, name in lines.items()}
    counters = run.report["run"]["counters"]
    a_step = sum(count for _, count, _ in found.values()) / steps
    return Row(
        "the seed's push loop (256 environments): transfers and syncs a step",
        "exact counts, right file and line",
        f"{a_step:g} transfers a step on lines {sorted(found)}, each 256 a step; in all "
        f"{counters.get('transfers', 0):g} transfers, {counters.get('syncs', 0):g} syncs in "
        f"{steps} steps; first finding: {(run.findings() or ['none'])[0]}",
        found == expected and counters.get("syncs") == 1280 * steps,
    )


def small_ppo(run: Measured, on_device: float, on_cpu: float) -> Row:
    """The first finding, and its prediction against the gain of moving to the CPU."""
    first = next((f for f in run.report["findings"]), None)
    gain = on_device / on_cpu
    id = first["id"] if first else "none"
    # Of the loop, as both runs are timed: what start-up takes is not part of it.
    low, high = first["evidence"]["gain_of_loop"] if first else (0.0, 0.0)
    return Row(
        "a small MLP PPO on the GPU",
        "`small-work-on-gpu` or `launch-bound` first, the gain inside the predicted range",
        f"first: {id}, predicted {low:.2f} to {high:.2f}; on the CPU {gain:.2f} times "
        f"faster; all: {', '.join(run.findings())}",
        id in ("small-work-on-gpu", "launch-bound") and low <= gain <= high,
    )


def large_conv(run: Measured) -> Row:
    spoke = [id for id in run.findings() if id in DEVICE_FINDINGS]
    device = run.report["device"]
    return Row(
        "a large convolutional network with a big batch",
        "no device finding",
        f"{', '.join(spoke) or 'none'}; kernels {100 * (device['kernel_share'] or 0):.0f}% of "
        f"the loop, the driver says {100 * (device['figures']['busy'] or 0):.0f}% busy",
        not spoke,
    )


def known_memory(run: Measured) -> Row:
    expected = json.loads(run.output.strip().splitlines()[-1])
    found = {p["name"]: round((p["gpu_peak_mb"] or 0) * 1e6) for p in run.report["phases"]}
    off = {name: found.get(name, 0) - size for name, size in expected.items()}
    return Row(
        "memory peak of a region with known allocations",
        "exact to the allocator's block size",
        "; ".join(f"{name}: {found.get(name)} bytes, {off[name]:+d}" for name in expected),
        all(abs(each) < 512 for each in off.values()),
    )


def on_critical_path(each: critical.Compared) -> Row:
    return Row(
        f"`{each.program.file}` against a full trace",
        "critical path within 5 points, kernel time within 5%, the right finding first",
        critical.text(each),
        each.points <= critical.POINTS
        and each.worst_kernels <= critical.KERNELS
        and each.cause_first,
    )


# -- all of it --


def measure(bench: Bench, options: argparse.Namespace) -> tuple[list[Row], dict[str, Any]]:
    work = ("--iterations", str(options.iterations))
    pairs = []
    for number in range(options.pairs):
        pairs.append(bench.in_turns(None, "ppo_mlp.py", *work))
        _say(f"pair {number + 1}: {sum(pairs[-1][0]):.2f} s, {pairs[-1][1].seconds:.2f} s")
    runs = [run for _, run in pairs]
    truth = full_trace(bench, options.iterations)
    rows = [kernel_time(truth, runs), *cost_and_total(pairs)]
    few = ("--iterations", str(options.iterations * 2 // 5))
    rows.append(windows_alone(bench.in_turns(["--gpu", "off"], "ppo_mlp.py", *few)))
    _say(rows[-1].measured)
    push = bench.hotloop([], "push_loop.py", "--steps", str(options.steps))
    rows.append(transfers(push, options.steps))
    _say("push loop")
    small = bench.hotloop([], "ppo_mlp.py", "--iterations", str(options.alone))
    on_device, on_cpu = small_on_both(bench, options.alone)
    rows.append(small_ppo(small, on_device, on_cpu))
    conv = bench.hotloop([], "conv_large.py", "--updates", str(options.updates))
    rows.append(large_conv(conv))
    _say(f"large network {conv.seconds:.2f} s")
    rows.append(known_memory(bench.hotloop([], "known_memory.py")))
    details = {
        "turns": [[plain, _turns(run.output)] for plain, run in pairs],
        "on_device": on_device,
        "on_cpu": on_cpu,
        "truth": truth,
        "reports": {"ppo": small.report, "push": push.report, "conv": conv.report}
        | {f"pair {i}": run.report for i, run in enumerate(runs)},
    }
    return rows, details


def against_traces(bench: Bench) -> tuple[list[Row], dict[str, Any]]:
    compared = []
    for program in critical.PROGRAMS:
        compared.append(critical.compare(bench, program, DEVICE_FINDINGS))
        _say(critical.text(compared[-1]))
    return [on_critical_path(each) for each in compared], {
        "traced": {each.program.file: each.report for each in compared}
    }


def full_trace(bench: Bench, iterations: int) -> dict[str, float]:
    """Kernel seconds of each range in a trace of a part of the run, scaled to all of it."""
    part = max(iterations // 10, 1)
    file = bench.folder / "truth.json"
    bench.plain("ppo_mlp.py", "--iterations", str(part), "--truth", str(file))
    known = json.loads(file.read_text())["seconds"]
    _say(f"full trace of {part} iterations: {known}")
    return {name: seconds * iterations / part for name, seconds in known.items()}


def small_on_both(bench: Bench, iterations: int) -> tuple[float, float]:
    """Loop seconds on the device and on the CPU."""
    found: dict[str, list[float]] = {"cuda": [], "cpu": []}
    for device in ("cuda", "cpu"):
        arguments = ("--iterations", str(iterations), "--device", device)
        found[device].append(bench.plain("ppo_mlp.py", *arguments)[0])
        _say(f"{device} {found[device][-1]:.2f} s")
    return statistics.median(found["cuda"]), statistics.median(found["cpu"])


_BEGAN = time.perf_counter()


def _say(text: str) -> None:
    print(f"[{time.perf_counter() - _BEGAN:4.0f} s] {text}", file=sys.stderr, flush=True)


def main() -> int:
    if "--causes" in sys.argv:
        return causes.main([each for each in sys.argv[1:] if each != "--causes"])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1, help="pairs that take turns")
    parser.add_argument("--iterations", type=int, default=250, help="of each of a pair")
    parser.add_argument("--alone", type=int, default=60, help="iterations of the small PPO alone")
    parser.add_argument("--steps", type=int, default=200, help="of the push loop")
    parser.add_argument("--updates", type=int, default=80, help="of the large network")
    parser.add_argument("--traces-only", action="store_true", help="skip cost and the small PPO")
    parser.add_argument("--json", help="also write all figures to this file")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("no torch here: nothing to measure", file=sys.stderr)
        return 0
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing to measure", file=sys.stderr)
        return 0
    card = torch.cuda.get_device_name(0)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        rows, details = ([], {}) if options.traces_only else measure(bench, options)
        traced, reports = against_traces(bench)
        rows, details = [*rows, *traced], details | reports
    print(f"{card}, torch {torch.__version__}, Python {sys.version.split()[0]}\n")
    print("| what | asked | measured | holds |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.asked} | {row.measured} | {'yes' if row.holds else 'NO'} |")
    if options.json:
        content = {"card": card, "rows": [asdict(row) for row in rows], **details}
        Path(options.json).write_text(json.dumps(content, indent=1))
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
