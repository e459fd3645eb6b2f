"""Runs a program under the real `hotloop run` and reads its report.

    def test_it(profile):
        run = profile(PROGRAM)               # source text; `run = profile(path)` for a file
        run.check_accounted()
        assert run.seconds("env.step") == pytest.approx(...)

`profile(source, hotloop=False)` runs the same program alone, for what must be the same with and
without. A program hands results back by printing them: `run.out`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

#: A program of these tests takes seconds; one that hangs must not hold the others up for ever.
TIMEOUT_S = 300


@dataclass
class Run:
    """What one run of a program left."""

    out: str
    err: str
    code: int
    report: dict[str, Any] = field(default_factory=dict)
    capture: Path | None = None

    @property
    def coverage(self) -> float:
        return float(self.report["coverage"])

    @property
    def unexplained(self) -> float:
        return float(self.report["unexplained"])

    @property
    def phases(self) -> list[dict[str, Any]]:
        return list(self.report["phases"])

    @property
    def paths(self) -> dict[str, dict[str, Any]]:
        """The main process's phases by path."""
        return {p["path"]: p for p in self.phases if p["process"] == "main"}

    def seconds(self, name: str) -> float:
        """Self time of a phase in the main process, wherever in the tree."""
        return float(sum(p["self_s"] for p in self.phases if p["name"] == name))

    def calls(self, name: str) -> int:
        return int(sum(p["calls"] for p in self.phases if p["name"] == name))

    def counter(self, name: str) -> float:
        return float(self.report["run"].get(name) or self.report["run"]["counters"].get(name, 0))

    def training_counts(self) -> list[int]:
        """Environment steps, episodes, gradient steps and rows learned from."""
        names = ("env_steps", "episodes", "gradient_steps", "samples")
        return [int(self.counter(name)) for name in names]

    def check_accounted(self, coverage: float = 0.97) -> None:
        """Nearly all of the loop is in phases, and little of it is unexplained."""
        assert self.coverage >= coverage, self.table()
        assert self.unexplained <= 0.08, self.table()

    def table(self) -> str:
        """Something to read when a test fails."""
        lines = [f"coverage {self.coverage:.4f}  unexplained {self.unexplained:.4f}"]
        lines += [
            f"{p['path']:45} {p['calls']:8} self {p['self_s']:8.4f}  share {p['share']:6.3f}"
            for p in self.phases
        ]
        return "\n".join(lines)


Profile = Callable[..., Run]


def run_program(
    path: Path,
    arguments: tuple[str, ...],
    capture: Path,
    hotloop: bool = True,
    options: tuple[str, ...] = (),
) -> Run:
    """Run a file, with hotloop or alone, in a process of its own."""
    command = [sys.executable]
    if hotloop:
        command += ["-m", "hotloop", "run", "-q", "-o", str(capture), *options]
    command += [str(path), *arguments]
    # One thread for arithmetic: the same result on every machine, and less noise.
    environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=path.parent, env=environment, timeout=TIMEOUT_S
    )
    if missing := re.search(r"ModuleNotFoundError: No module named '(\w+)'$", done.stderr.strip()):
        pytest.importorskip(missing[1])  # a library without a release for this Python
    run = Run(done.stdout, done.stderr, done.returncode)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    if hotloop:
        told = subprocess.run(
            [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"],
            capture_output=True,
            text=True,
            env=environment,
            timeout=TIMEOUT_S,
        )
        assert told.returncode == 0, told.stderr
        run.report = json.loads(told.stdout)
        run.capture = capture
    return run
