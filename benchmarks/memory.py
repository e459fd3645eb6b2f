"""What hotloop adds to a training's memory, after a minute and after an hour.

    python -m benchmarks.memory [--speed 30]

An hour is 3,600 windows and 360,000 samples. Here windows close and samples are taken `--speed`
times as often as they do, in a real training with the real hooks, so that an hour of them takes two
minutes. The same training without hotloop says what it needs itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.core import resident
from benchmarks.cost import RESULTS, keep, say
from benchmarks.tables import MEMORY_GOAL_MB, Goal, goals_table

#: Windows after which the memory is looked at: a minute's, ten minutes', an hour's.
MARKS = (60, 600, 3600)
#: More than this between a minute and an hour is growth; less is what allocators do.
SAME_MB = 1.0
SPEED = 30


@dataclass(frozen=True)
class Grown:
    """Resident megabytes at each mark; a line of the results."""

    hotloop: list[float]
    plain: list[float]
    windows: int
    samples: int

    @property
    def added(self) -> list[float]:
        return [one - other for one, other in zip(self.hotloop, self.plain, strict=True)]


def train(speed: float, folder: Path | None) -> None:
    """In a process of its own: PPO of Stable-Baselines3 until an hour's windows have closed."""
    session = _begin(folder, speed) if folder is not None else None
    sys.modules["tensorflow"] = None  # type: ignore[assignment]  # see `programs/measured.py`
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=128, seed=0, device="cpu")
    begin, marks = time.monotonic(), []
    for mark in MARKS:
        while time.monotonic() - begin < mark / speed:
            model.learn(128, reset_num_timesteps=False)
        marks.append(resident() / 1e6)
    if session is not None:
        session.finish()
    print("marks " + json.dumps(marks))


def _begin(folder: Path, speed: float) -> Any:
    from hotloop.run import functions
    from hotloop.run.session import Session
    from hotloop.run.settings import Settings

    functions.SAMPLES_PER_SECOND = int(functions.SAMPLES_PER_SECOND * speed)
    session = Session(Settings(str(folder), window_s=1 / speed))
    session.start(["benchmarks.memory"])
    return session


def measure(speed: float) -> Grown:
    """Both trainings, one after the other."""
    from hotloop.analyze.processes.training import read_capture

    with tempfile.TemporaryDirectory() as name:
        hotloop, plain = _child(speed, name), _child(speed, "")
        windows = read_capture(name).main.windows
    samples = sum(count for window in windows for count, _ in window.samples.values())
    return Grown(hotloop, plain, windows[-1].last + 1, samples)


def _child(speed: float, folder: str) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.memory", "--speed", str(speed), "--child", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    marks: list[float] = json.loads(done.stdout.rpartition("marks ")[2])
    say(f"{'with' if folder else 'without'} hotloop: {', '.join(f'{m:.1f}' for m in marks)} MB")
    return marks


def goals(grown: Grown) -> list[Goal]:
    minute, ten, hour = grown.added
    counts = f"{grown.windows:,} windows, {grown.samples:,} samples"
    return [
        Goal(
            "resident memory added in a training process, after an hour's windows (simulated)",
            f"at most {MEMORY_GOAL_MB:.0f} MB",
            f"{hour:+.1f} MB ({counts})",
            hour <= MEMORY_GOAL_MB,
        ),
        Goal(
            "the same after a minute and after an hour",
            "the same",
            f"{minute:+.1f} MB, {ten:+.1f} MB after ten minutes, {hour:+.1f} MB",
            hour - minute <= SAME_MB,
        ),
    ]


def load(path: Path) -> Grown | None:
    """The newest result."""
    lines = path.read_text().splitlines() if path.exists() else []
    return Grown(**json.loads(lines[-1])) if lines else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--speed", type=float, default=SPEED)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        train(options.speed, Path(options.child) if options.child else None)
        return 0
    grown = measure(options.speed)
    keep(options.results / "memory.jsonl", json.dumps(asdict(grown)))
    print(goals_table(goals(grown)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
