"""What the switches of the training programs give: `python -m benchmarks.workloads [--pairs N] [name]`.

Each pair runs a program at its slow and at its fast setting, in turn, for the same number of
environment steps; the program times its own loop. The figure is the median of the pairs' ratios, with
the least and the greatest.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

WORKLOADS = Path(__file__).parents[1] / "workloads"
#: How each program tells the seconds of its loop.
SECONDS = re.compile(r"^Wall time: ([\d.]+) s", re.MULTILINE)


@dataclass(frozen=True)
class Switch:
    """A program, what both sides share, and what sets them apart."""

    program: str
    both: tuple[str, ...]
    slow: tuple[str, ...]
    fast: tuple[str, ...]


SWITCHES = {
    "snake": Switch("snake_dqn", ("--steps", "25600", "--no-evaluation"), ("--slow",), ()),
    "snake-push": Switch(
        "snake_dqn",
        ("--steps", "102400", "--no-evaluation", "--train-ratio", "0"),
        ("--push", "loop"),
        ("--push", "batch"),
    ),
    "trading": Switch("trading_dqn", ("--steps", "400"), ("--act", "predict"), ("--act", "call")),
}


def loop_seconds(switch: Switch, arguments: tuple[str, ...]) -> float:
    """One run in a folder of its own."""
    command = [sys.executable, str(WORKLOADS / switch.program / "train.py")]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, *switch.both, *arguments], cwd=folder, capture_output=True, text=True
        )
    found = SECONDS.search(done.stdout)
    if done.returncode or found is None:
        raise SystemExit(f"{switch.program} {arguments}: exit {done.returncode}\n{done.stderr}")
    return float(found.group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SWITCHES, []], help="default: all of them")
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    print("| switch | slow, s | fast, s | times faster (least to greatest) |")
    print("|---|---|---|---|")
    for name in options.names or SWITCHES:
        switch = SWITCHES[name]
        slow, fast = [], []
        for pair in range(options.pairs):
            for side in ("slow", "fast") if pair % 2 == 0 else ("fast", "slow"):
                seconds = loop_seconds(switch, getattr(switch, side))
                (slow if side == "slow" else fast).append(seconds)
        ratios = [a / b for a, b in zip(slow, fast, strict=True)]
        print(
            f"| {name} | {statistics.median(slow):.2f} | {statistics.median(fast):.2f} "
            f"| {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
