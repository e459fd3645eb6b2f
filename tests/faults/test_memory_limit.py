"""The program is killed by its memory limit: its capture reads, up to the last window."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.processes.training import read_capture
from hotloop.diagnose import diagnose
from hotloop.report.document import make_report
from hotloop.report.output import render

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")

#: Grows by 2 MB a step until something ends it.
PROGRAM = """
import time
from hotloop import count, profile

kept = []
while True:
    with profile("collect"), profile("env.step"):
        kept.append(bytearray(2_000_000))
        time.sleep(0.02)
    count("env_steps")
    with open("steps", "a") as file:
        file.write(".")
"""
LIMIT_BYTES = 200_000_000


@pytest.fixture
def group() -> Iterator[tuple[Path, str]]:
    """A control group of its own with a memory limit, and the file that lets a process join."""
    name = f"hotloop-test-{os.getpid()}-{time.monotonic_ns()}"
    for base, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        made = base / name
        try:
            made.mkdir()
            (made / limit).write_text(str(LIMIT_BYTES))
        except OSError:
            continue
        yield made, "cgroup.procs"
        for _ in range(50):
            try:
                made.rmdir()
                return
            except OSError:
                time.sleep(0.1)
        return
    pytest.skip("no control group with a memory limit can be made here")


def start(folder: Path, before: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(PROGRAM)
    command = f"{before}; exec {sys.executable} -m hotloop run -q -o cap train.py"
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=90
    )


def check(folder: Path) -> str:
    capture = read_capture(folder / "cap")
    analysis = analyze(capture)
    assert "env.step" in render("text", make_report(analysis, diagnose(analysis)))
    done = len((folder / "steps").read_text())
    # A step takes 20 ms at the least: at most the last window's are missing, and one may be late.
    assert done - analysis.run.env_steps <= 80
    assert analysis.run.env_steps > 0
    return f"{analysis.run.env_steps:.0f} of {done} steps in the capture"


def test_killed_by_a_control_group(group: tuple[Path, str], tmp_path: Path, say) -> None:
    folder, procs = group
    done = start(tmp_path, f"echo $$ > {folder / procs}")
    assert done.returncode == -signal.SIGKILL, done.stderr
    seen = check(tmp_path)
    assert read_capture(tmp_path / "cap").main.end is None
    say(f"killed by the memory limit of a control group: the capture reads, {seen}")


def test_refused_by_a_limit_of_the_shell(tmp_path: Path, say) -> None:
    """`ulimit -v`: the program gets a MemoryError, and dies of it in its own way."""
    done = start(tmp_path, "ulimit -v 330000")
    assert done.returncode == 1, done.stderr
    assert "MemoryError" in done.stderr
    assert "hotloop/measure" not in done.stderr
    seen = check(tmp_path)
    assert read_capture(tmp_path / "cap").main.end is not None
    say(f"refused memory by `ulimit -v`: the program's own MemoryError, {seen}")
