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

#: Causes whose very effect is that threads wait for cores.
SHARES_CORES = frozenset({"thread-oversubscription", "cpu-quota"})


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
    #: (seconds, of which waiting for a core) of each timed run.
    slow_s: list[tuple[float, float]] = field(default_factory=list)
    fixed_s: list[tuple[float, float]] = field(default_factory=list)

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
        """Measured: the whole run, from start to exit; medians of the timed runs.

        What the main thread stood ready without a core is left out where that is other programs'
        doing: where both versions are one process, and the cause is not just that. With workers
        it is these that wait, which the main thread's clock does not show.
        """
        if not self.slow_s or not self.fixed_s:
            return None
        alone = self.slow.run["processes"] == self.fixed.run["processes"] == 1
        counted = self.id in SHARES_CORES or not alone
        slow, fixed = (
            statistics.median(seconds if counted else seconds - waited for seconds, waited in times)
            for times in (self.slow_s, self.fixed_s)
        )
        return slow / fixed

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


def _group_of(path: Path) -> AbstractContextManager[list[str]]:
    """The words before a program's command; none but for those that a limit is for."""
    cores = next((c for name, c in LIMITED.items() if path.stem.startswith(name)), None)
    return limited(cores) if cores is not None else nullcontext([])


def look_at(path: Path, keep: Path | None = None) -> Seen:
    """Run a program under hotloop and read its report; a capture that was kept is read again."""
    folder = Path(tempfile.mkdtemp(prefix="hotloop-scoreboard-"))
    try:
        capture = (keep or folder) / path.stem
        if not capture.exists():
            made = folder / "capture"
            command = [sys.executable, "-m", "hotloop", "run", "--quiet", "-o", str(made)]
            with _group_of(path) as before:
                _call([*before, *command, str(path)], folder)
            capture.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(made, capture)
        report = [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"]
        document = json.loads(_call(report, folder))
        return Seen(document["findings"], document["run"], document["verdict"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


#: How often a running program is looked at for the time in which it had no core.
LOOK_S = 0.05


def time_of(path: Path) -> tuple[float, float]:
    """(seconds from start to exit without hotloop, of which its main thread waited for a core).

    Other people's programs on the same machine make any program slower; what the system says of
    its waiting (Linux's `schedstat`) tells that from what it does itself.
    """
    with tempfile.TemporaryDirectory(prefix="hotloop-scoreboard-") as folder:
        begin = time.perf_counter()
        with open(Path(folder) / "errors", "w+") as errors, _group_of(path) as before:
            running = subprocess.Popen(
                [*before, sys.executable, str(path)], cwd=folder, env=_environment(),
                stdout=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip
            waited = 0.0
            while running.poll() is None:
                waited = max(waited, _waited_s(running.pid))
                if time.perf_counter() - begin > TIME_LIMIT_S:
                    running.kill()
                time.sleep(LOOK_S)
            seconds = time.perf_counter() - begin
            if running.returncode:
                errors.seek(0)
                raise RuntimeError(f"{path} ended with {running.returncode}:\n{errors.read()}")
        return seconds, waited


def _waited_s(pid: int) -> float:
    """Seconds that a process's main thread stood ready without a core; 0 where nobody says."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def score(id: str, pairs: int, keep: Path | None = None) -> Score:
    """Both versions of one cause, timed in turn."""
    slow, fixed = program(id, "slow"), program(id, "fixed")
    result = Score(id, look_at(slow, keep), look_at(fixed, keep))
    result.slow_s, result.fixed_s = _kept_times(keep, slow), _kept_times(keep, fixed)
    for turn in range(len(result.fixed_s), pairs):
        order = [(slow, result.slow_s), (fixed, result.fixed_s)]
        for path, times in order if turn % 2 == 0 else order[::-1]:
            times.append(time_of(path))
    if keep is not None:
        for path, times in ((slow, result.slow_s), (fixed, result.fixed_s)):
            _times_file(keep, path).write_text(json.dumps(times))
    return result


def _times_file(keep: Path, path: Path) -> Path:
    return keep / f"{path.stem}.times.json"


def _kept_times(keep: Path | None, path: Path) -> list[tuple[float, float]]:
    if keep is None or not _times_file(keep, path).exists():
        return []
    return [
        (seconds, waited) for seconds, waited in json.loads(_times_file(keep, path).read_text())
    ]


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
