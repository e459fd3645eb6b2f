"""What profilers cost a training: `python -m benchmarks.cost [--pairs N] [--only hotloop,py-spy]`.

Every round runs the plain program and then the same program under each profiler, in an order that
turns from round to round; the figure is the median over the rounds of (loop time under the profiler
/ plain loop time of the same round), with a bootstrap interval. The programs time their own loop.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Profiler:
    """How to run a program under a profiler; `{script}` and `{out}` are put in."""

    name: str
    command: tuple[str, ...]
    needs: str = ""


PROFILERS = (
    Profiler("hotloop", ("-m", "hotloop", "run", "-q", "-o", "{out}/capture", "{script}")),
    Profiler(
        "hotloop, no samples",
        ("-m", "hotloop", "run", "-q", "--functions", "off", "-o", "{out}/bare", "{script}"),
    ),
    Profiler("cProfile", ("-m", "cProfile", "-o", "{out}/a.prof", "{script}")),
    Profiler(
        "py-spy", ("py-spy", "record", "-o", "{out}/a.svg", "--", "python", "{script}"), "py-spy"
    ),
    Profiler(
        "pyinstrument", ("-m", "pyinstrument", "-o", "{out}/a.txt", "{script}"), "pyinstrument"
    ),
    Profiler(
        "viztracer", ("-m", "viztracer", "--quiet", "-o", "{out}/a.json", "{script}"), "viztracer"
    ),
    Profiler(
        "scalene",
        ("-m", "scalene", "run", "--outfile", "{out}/scalene.json", "{script}"),
        "scalene",
    ),
)


def loop_seconds(command: list[str], folder: str) -> float:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    match = re.search(r"^loop ([\d.]+)$", done.stdout, re.MULTILINE)
    if match is None:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return float(match[1])


def command_of(profiler: Profiler | None, script: Path, folder: str) -> list[str]:
    if profiler is None:
        return [sys.executable, str(script)]
    parts = [part.format(script=script, out=folder) for part in profiler.command]
    if profiler.name == "py-spy":
        binary = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or "py-spy"
        return [binary, *[sys.executable if p == "python" else p for p in parts[1:]]]
    return [sys.executable, *parts]


def installed(profiler: Profiler) -> bool:
    if profiler.name == "py-spy":
        return bool(shutil.which("py-spy", path=str(Path(sys.executable).parent)))
    if not profiler.needs:
        return True
    from importlib.util import find_spec

    return find_spec(profiler.needs) is not None


def interval(ratios: list[float]) -> tuple[float, float]:
    """A 95% percentile bootstrap of the median."""
    generator = random.Random(0)
    medians = sorted(
        statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(2000)
    )
    return medians[50], medians[1949]


def measure(script: Path, profilers: list[Profiler], pairs: int) -> dict[str, list[float]]:
    ratios: dict[str, list[float]] = {profiler.name: [] for profiler in profilers}
    for pair in range(pairs):
        candidates: list[Profiler | None] = [None, *profilers]
        turned = candidates[pair % len(candidates) :] + candidates[: pair % len(candidates)]
        seconds: dict[str, float] = {}
        for profiler in turned:
            with tempfile.TemporaryDirectory() as folder:
                name = profiler.name if profiler else "plain"
                seconds[name] = loop_seconds(command_of(profiler, script, folder), folder)
        for name in ratios:
            ratios[name].append(seconds[name] / seconds["plain"])
        print(f"  {script.stem} {pair + 1}/{pairs}", file=sys.stderr, flush=True)
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", help="names of profilers, with commas between")
    parser.add_argument("--programs", default="sb3_ppo,sb3_dqn")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else [p.name for p in PROFILERS]
    profilers = [p for p in PROFILERS if p.name in wanted and installed(p)]
    print("| program | profiler | loop time against plain | 95% interval |\n|---|---|---|---|")
    for name in options.programs.split(","):
        ratios = measure(PROGRAMS / f"{name}.py", profilers, options.pairs)
        for profiler, each in ratios.items():
            low, high = interval(each)
            middle = statistics.median(each)
            print(f"| {name} | {profiler} | {middle:.3f} | {low:.3f} to {high:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
