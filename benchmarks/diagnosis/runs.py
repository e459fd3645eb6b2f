"""Runs the scoreboard's programs: under hotloop for the findings, alone for the times."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
HEALTHY = HERE / "healthy"

#: No program of the scoreboard takes nearly as long.
TIME_LIMIT_S = 300


@dataclass
class Seen:
    """What hotloop said of one program."""

    findings: list[dict[str, Any]]
    run: dict[str, Any]
    verdict: str

    def ids(self, *severities: str) -> list[str]:
        return [f["id"] for f in self.findings if not severities or f["severity"] in severities]

    def finding(self, id: str) -> dict[str, Any] | None:
        return next((f for f in self.findings if f["id"] == id), None)

    @property
    def per_step_s(self) -> float:
        steps = self.run.get("env_steps") or 0
        return float(self.run["loop_s"]) / steps if steps else float("nan")


@dataclass
class Score:
    """One cause: what was said, and what the fix really gave."""

    id: str
    slow: Seen
    fixed: Seen
    slow_s: list[float] = field(default_factory=list)
    fixed_s: list[float] = field(default_factory=list)

    @property
    def first(self) -> bool:
        """The planted cause leads, or, being healthy, is named without any alarm beside it."""
        finding = self.slow.finding(self.id)
        if finding is not None and finding["severity"] == "healthy":
            return not self.slow.ids("critical", "warning")
        return bool(self.slow.findings) and self.slow.findings[0]["id"] == self.id

    @property
    def still(self) -> bool:
        """The planted cause is reported of the fixed program too."""
        finding = self.fixed.finding(self.id)
        return finding is not None and finding["severity"] not in ("info",)

    @property
    def gain(self) -> float | None:
        """Measured: the whole run, from start to exit."""
        if not self.slow_s or not self.fixed_s:
            return None
        return statistics.median(self.slow_s) / statistics.median(self.fixed_s)

    @property
    def loop_gain(self) -> float:
        """Measured: time per environment step of the two captures."""
        return self.slow.per_step_s / self.fixed.per_step_s if self.fixed.per_step_s else 0.0

    @property
    def predicted(self) -> tuple[float, float] | None:
        finding = self.slow.finding(self.id)
        if finding is None or finding["severity"] == "healthy":
            return None
        return finding["gain"]["low"], finding["gain"]["high"]

    @property
    def inside(self) -> bool | None:
        """Whether the measured gain lies in the predicted range; None if there is none."""
        if self.predicted is None or self.gain is None:
            return None
        low, high = self.predicted
        return low <= self.gain <= high


def program(id: str, version: str) -> Path:
    return PROGRAMS / f"{id.replace('-', '_')}_{version}.py"


def all_ids() -> list[str]:
    """Every cause that has both of its programs."""
    found = sorted(p.name[: -len("_slow.py")] for p in PROGRAMS.glob("*_slow.py"))
    return [name.replace("_", "-") for name in found if program(name, "fixed").exists()]


def healthy_programs() -> list[Path]:
    return sorted(p for p in HEALTHY.glob("*.py") if not p.name.startswith("_"))


def look_at(path: Path) -> Seen:
    """Run a program under hotloop and read its report."""
    folder = Path(tempfile.mkdtemp(prefix="hotloop-scoreboard-"))
    try:
        capture = folder / "capture"
        command = [sys.executable, "-m", "hotloop", "run", "--quiet", "-o", str(capture)]
        _call([*command, str(path)], folder)
        report = [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"]
        document = json.loads(_call(report, folder))
        return Seen(document["findings"], document["run"], document["verdict"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def time_of(path: Path) -> float:
    """Seconds from start to exit of a program without hotloop."""
    with tempfile.TemporaryDirectory(prefix="hotloop-scoreboard-") as folder:
        begin = time.perf_counter()
        _call([sys.executable, str(path)], Path(folder))
        return time.perf_counter() - begin


def score(id: str, pairs: int) -> Score:
    """Both versions of one cause, timed in turn."""
    slow, fixed = program(id, "slow"), program(id, "fixed")
    result = Score(id, look_at(slow), look_at(fixed))
    for turn in range(pairs):
        order = [(slow, result.slow_s), (fixed, result.fixed_s)]
        for path, times in order if turn % 2 == 0 else order[::-1]:
            times.append(time_of(path))
    return result


def _call(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT_S
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout
