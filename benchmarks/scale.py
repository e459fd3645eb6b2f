"""A week-long run and a run of 1,024 processes: `python -m benchmarks.scale [week] [processes]`.

Records a minute of the program with worker processes under the real command, stretches that
capture (`stretch`: real windows, merged by the writer's own rule, only time is made up) and makes
reports of it with the real command. Sizes and memory are counts, times medians of a few reports.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.cost import RESULTS, keep, say
from benchmarks.runs import HELPERS, PROGRAMS
from benchmarks.stretch import stretch
from benchmarks.tables import Goal, goals_table
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.reader import Capture

WEEK_HOURS = 7 * 24.0
#: The program that is stretched, and how long it is recorded.
PROGRAM, RECORD = "subproc_ppo", "60s"
PROCESSES = 1024
#: How long each of them ran, in the stretched runs.
PROCESSES_HOURS = (1.0, 8.0)
#: Reports whose median is taken; those of many processes take long enough to need only one.
REPORTS = {"week": 3, "processes": 1}


@dataclass(frozen=True)
class Made:
    """What making a report took."""

    wall_s: float
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True)
class Scale:
    """A stretched capture and its reports; a line of the results."""

    what: str
    processes: int
    hours: float
    phases: int
    size_mb: float
    text: Made
    page: Made


def make(command: list[str]) -> Made:
    """Run a command; its time, CPU time and peak memory."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} failed")
    wall = time.perf_counter() - begin
    return Made(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)


def report(capture: Path, times: int, *words: str) -> Made:
    """The median of a few reports of a capture."""
    command = [sys.executable, "-m", "hotloop", "report", str(capture), *words]
    made = [make(command) for _ in range(times)]
    return Made(
        *(statistics.median(getattr(each, name) for each in made) for name in asdict(made[0]))
    )


def record(folder: Path, stop_after: str) -> Capture:
    """A capture of the program with workers, by the real command."""
    for name in (*HELPERS, f"{PROGRAM}.py"):
        shutil.copy(PROGRAMS / name, folder)
    command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", str(folder / "short")]
    command += ["--stop-after", stop_after, f"{PROGRAM}.py", "100000000"]
    subprocess.run(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return read_capture(folder / "short")


def measure(what: str, capture: Capture, folder: Path, hours: float, workers: int) -> Scale:
    """Stretch a capture and report on it."""
    long = folder / what
    stretch(capture, long, hours, workers)
    size = sum(path.stat().st_size for path in long.iterdir()) / 1e6
    say(f"{what}: {workers + 1} processes, {hours:g} hours, {size:.1f} MB")
    text = report(long, REPORTS[what])
    page = report(long, REPORTS[what], "-o", str(folder / f"{what}.html"), "-f")
    paths = {path for window in capture.main.windows for path in window.phases}
    shutil.rmtree(long)
    return Scale(what, workers + 1, hours, len(paths), size, text, page)


def goals(found: list[Scale]) -> list[Goal]:
    """The rows of the proof."""
    rows = []
    for each in found:
        run = f"{each.processes} processes over {each.hours:g} hours"
        made = [("text", each.text), ("page", each.page)]
        seconds = max(each.text.wall_s, each.page.wall_s)
        memory = max(each.text.peak_mb, each.page.peak_mb)
        times = ", ".join(f"{name} {one.wall_s:.1f} s" for name, one in made)
        peaks = ", ".join(f"{name} {one.peak_mb:.0f} MB" for name, one in made)
        if each.what == "week":
            rows += [
                Goal(
                    f"a week-long run ({run}), simulated: capture",
                    "50 MB",
                    f"{each.size_mb:.1f} MB",
                    each.size_mb <= 50,
                ),
                Goal("the same: time of its report", "5 s", times, seconds <= 5),
                Goal("the same: memory of its report", "500 MB", peaks, memory <= 500),
            ]
        else:
            size = f"{run}, simulated ({each.size_mb:.0f} MB), in one report"
            rows += [
                Goal(f"{size}: time", "under 30 s", times, seconds < 30),
                Goal("the same: memory", "under 1 GB", peaks, memory < 1000),
            ]
    return rows


def load(path: Path) -> list[Scale]:
    """The newest line of each kind."""
    found: dict[tuple[str, float], Scale] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        row["text"], row["page"] = Made(**row["text"]), Made(**row["page"])
        found[row["what"], row["hours"]] = Scale(**row)
    return [found[key] for key in sorted(found, key=lambda key: (key[0] != "week", key[1]))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", nargs="*", choices=[[], "week", "processes"])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument(
        "--hours", type=float, nargs="*", default=PROCESSES_HOURS, help="of these processes"
    )
    parser.add_argument("--record", default=RECORD, help="how long the program is recorded")
    options = parser.parse_args()
    results = options.results / "scale.jsonl"
    with tempfile.TemporaryDirectory(prefix="hotloop-scale-") as name:
        folder = Path(name)
        capture = record(folder, options.record)
        wanted = options.what or ["week", "processes"]
        planned = [("week", WEEK_HOURS, len(capture.shards) - 1)] if "week" in wanted else []
        if "processes" in wanted:
            planned += [("processes", hours, options.processes - 1) for hours in options.hours]
        for what, hours, workers in planned:
            keep(results, json.dumps(asdict(measure(what, capture, folder, hours, workers))))
    print(goals_table(goals(load(results))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
