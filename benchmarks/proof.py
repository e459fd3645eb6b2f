"""Writes the figures of docs/proof.md from the results: `python -m benchmarks.proof [--print]`.

What stands there between `<!-- measured: NAME -->` and `<!-- end -->` is written here, so that no
number is typed by hand; the text around it is written by people. `--print` shows the parts instead.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import memory, scale, tables
from benchmarks.cost import RESULTS
from benchmarks.figures import load
from benchmarks.tables import Goal

PAGE = Path(__file__).parents[1] / "docs" / "proof.md"
NOT_YET = "*Not measured yet.*"
#: What the figures depend on beside the machine.
PACKAGES = (
    "torch", "stable-baselines3", "torchrl", "tensorflow-cpu", "keras", "gymnasium",
    "py-spy", "scalene", "pyinstrument", "viztracer", "memray",
)  # fmt: skip

_PART = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def parts(results: Path) -> dict[str, str]:
    """Every part of the page by its name."""
    cost, accuracy = load(results / "cost.jsonl"), load(results / "accuracy.jsonl")
    grown = memory.load(results / "memory.jsonl")
    long = scale.load(results / "scale.jsonl")
    goals = tables.cost_goals(cost)
    goals += memory.goals(grown) if grown else [Goal("resident memory after an hour", "", "")]
    goals += [*tables.accuracy_goals(accuracy), tables.attributed_goal(accuracy)]
    goals += scale.goals(long) or [Goal("a week-long run; 1,024 processes", "", "")]
    found = {
        "goals": tables.goals_table(goals),
        "machine": machine(results),
        "accuracy": tables.accuracy_table(accuracy) if accuracy else NOT_YET,
        "attributed": tables.attributed_table(accuracy) if accuracy else NOT_YET,
    }
    by_cost = {
        "loop": tables.loop_table,
        "start": tables.start_table,
        "memory": tables.memory_table,
        "rounds": tables.rounds_text,
        "failures": tables.failures_text,
    }
    return found | {name: make(cost) if cost else NOT_YET for name, make in by_cost.items()}


def machine(results: Path) -> str:
    """What it was measured on, and when."""
    stamps = [path.stat().st_mtime for path in results.glob("*.jsonl")]
    if not stamps:
        return NOT_YET
    when = time.strftime("%d %B %Y", time.gmtime(max(stamps)))
    packages = ", ".join(f"{name} {_version(name)}" for name in PACKAGES if _version(name))
    return (
        f"Measured on {when}: {_processor()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {packages}."
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "an unknown processor"
    model = re.search(r"^model name\s*: (.+)$", info, re.MULTILINE)
    return model[1].strip() if model else platform.machine()


def fill(page: str, found: dict[str, str]) -> str:
    """The page with its parts as they were measured; an unknown name is an error."""
    return _PART.sub(lambda match: f"{match[1]}{found[match[2]]}\n{match[3]}", page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--print", action="store_true", help="show the parts, write nothing")
    options = parser.parse_args()
    found = parts(options.results)
    if options.print:
        print("\n\n".join(f"{name}:\n\n{text}" for name, text in found.items()))
    else:
        PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
