"""A real run with all that a report can show, and what a rule could say of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import Finding, Gain
from hotloop.report.document import Report, make_report

#: Names that would end a script, run one, leave a table's cell or turn a line around.
HOSTILE = (
    "</script><img src=x onerror='window.pwned=1'>",
    "<!--<script>window.pwned=1//",
    "a|b `c` [d](javascript:alert(1)) **e** www.evil.example @all $x_1$",
    "\u2028\u202e\x1b[2J=cmd()",
)

PROGRAM = """
import multiprocessing, sys, threading, time
from hotloop import count, profile, step

HOSTILE = {hostile!r}

def work(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(100))

def simulate():
    work(0.002)

def worker():
    for _ in range(200):
        with profile("env.step"):
            simulate()
        with profile("wait"):
            time.sleep(0.002)

def prefetch():
    for _ in range(20):
        with profile("prefetch"):
            time.sleep(0.005)

def iteration(number):
    with profile("collect"):
        for _ in range(5):
            with profile("env.step"):
                simulate()
                count("env_steps", 4)
            with profile("policy.act"):
                work(0.001)
    with profile("learn"):
        with profile("learn.backward"):
            work(0.004)
            count("gradient_steps")
            count("samples", 32)
    if number % 40 == 20:
        with profile("evaluate"):
            work(0.08)
        with profile("checkpoint"):
            work(0.02)
    count("episodes")
    step()

if __name__ == "__main__":
    with profile("data"):
        work(1.2)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=worker, name=f"env-{{n}}") for n in range(2)]
    for process in processes:
        process.start()
    threading.Thread(target=prefetch).start()
    for number in range(int(sys.argv[1])):
        iteration(number)
        for name in HOSTILE:
            with profile(name, category=name):
                work(0.0005)
    for process in processes:
        process.join()
"""


def record(folder: Path, hostile: tuple[str, ...], *options: str, iterations: int = 280) -> Path:
    """A capture of that program, made by the real command."""
    (folder / "train.py").write_text(PROGRAM.format(hostile=hostile), encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "hotloop",
            "run",
            "-q",
            "-o",
            "cap",
            *options,
            "train.py",
            str(iterations),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return folder / "cap"


def findings(text: str = "") -> list[Finding]:
    """One of each kind, as a rule would make them."""
    return [
        Finding(
            "env-bound", "critical", f"The simulator takes most of the loop {text}", "env.step",
            Gain(1.5, 2.5), "high", f"Step environments in parallel. {text}",
            "hotloop compare train.py -- --envs 1 -- --envs 8",
            [SourceLine("/home/me/project/train.py", 12, f"simulate{text}")],
            {"share": 0.62, "step_s": 0.002, "peak_mb": 120.0, "environments": 4, "note": text},
            f"env = make(){text}", "env = AsyncVectorEnv(makers)", "none",
        ),
        Finding(
            "longer-episodes", "healthy", "Episodes get longer", "collect", Gain(1.0, 1.0), "high",
            "", "",
        ),
    ]  # fmt: skip


def until(page: Any, script: str, seconds: float = 15.0) -> None:
    """Wait for a script to be true. (Playwright's own way needs `eval`, which the page forbids.)"""
    for _ in range(int(seconds * 20)):
        if page.evaluate(script):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never true: {script}")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with workers, a thread, an evaluation, single calls and hostile names."""
    return record(tmp_path_factory.mktemp("recorded"), HOSTILE, "--trace")


@pytest.fixture(scope="session")
def report(recorded: Path) -> Report:
    """That run, read and understood, with hostile findings."""
    capture = read_capture(recorded)
    return make_report(analyze(capture), findings(HOSTILE[0]), RunHistory(capture))
