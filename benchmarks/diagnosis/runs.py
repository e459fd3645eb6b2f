"""Run the scoreboard's programs under hotloop, for findings and the time of their loops."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.diagnosis.limits import limited

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
HEALTHY = HERE / "healthy"

#: No program of the scoreboard takes nearly as long.
TIME_LIMIT_S = 300


#: Programs that run with a limit, in cores' worth of time, by the beginning of their names.
LIMITED = {"cpu_quota": 0.4}

#: Causes before the training loop: what their fix gains is of the whole run.
OF_THE_RUN = frozenset({"data-loading"})


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
        # Learning from a dataset steps no environment.
        steps = self.run.get("env_steps") or self.run.get("gradient_steps") or 0
        return float(self.run["loop_s"]) / steps if steps else float("nan")


@dataclass
class Score:
    """One cause: what was said, and what the fix really gave."""

    id: str
    slow: Seen
    fixed: Seen
    #: Seconds per step of the training loop in each run, or of the whole run (`OF_THE_RUN`).
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
        """Measured: medians over the interleaved runs of both versions."""
        if not self.slow_s or not self.fixed_s:
            return None
        return statistics.median(self.slow_s) / statistics.median(self.fixed_s)

    @property
    def predicted(self) -> tuple[float, float] | None:
        finding = self.slow.finding(self.id)
        if finding is None or finding["severity"] == "healthy":
            return None
        gain = finding["run_gain" if self.id in OF_THE_RUN else "gain"]
        return gain["low"], gain["high"]

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


def _group_of(path: Path) -> AbstractContextManager[list[str]]:
    """The words before a program's command; none but for those that a limit is for."""
    cores = next((c for name, c in LIMITED.items() if path.stem.startswith(name)), None)
    return limited(cores) if cores is not None else nullcontext([])


def look_at(path: Path, keep: Path | None = None, *arguments: str, turn: int = 0) -> Seen:
    """Run a program under hotloop and read its report; a capture that was kept is read again."""
    folder = Path(tempfile.mkdtemp(prefix="hotloop-scoreboard-"))
    try:
        capture = (keep or folder) / "".join([path.stem, *arguments, f".{turn}" if turn else ""])
        if not capture.exists():
            made = folder / "capture"
            command = [sys.executable, "-m", "hotloop", "run", "--quiet", "-o", str(made)]
            with _group_of(path) as before:
                _call([*before, *command, str(path), *arguments], folder)
            capture.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(made, capture)
        report = [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"]
        document = json.loads(_call(report, folder))
        return Seen(document["findings"], document["run"], document["verdict"]["sentence"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def score(id: str, pairs: int, keep: Path | None = None) -> Score:
    """Both versions of one cause, run in turn."""
    slow, fixed = program(id, "slow"), program(id, "fixed")
    result = Score(id, look_at(slow, keep), look_at(fixed, keep))
    result.slow_s.append(_seconds(id, result.slow))
    result.fixed_s.append(_seconds(id, result.fixed))
    for turn in range(1, pairs):
        order = [(slow, result.slow_s), (fixed, result.fixed_s)]
        for path, times in order if turn % 2 == 0 else order[::-1]:
            times.append(_seconds(id, look_at(path, keep, turn=turn)))
    return result


def _seconds(id: str, seen: Seen) -> float:
    return float(seen.run["wall_s"]) if id in OF_THE_RUN else seen.per_step_s


def _environment() -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}


def _call(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout
