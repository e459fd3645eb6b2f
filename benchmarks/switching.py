"""What measuring adds in time, in one process: `python -m benchmarks.switching [--seconds 40]`.

The hooks are in place all the time and measure in every other stretch of 64 steps (on, off, off,
on). The two kinds of stretches share a process, its memory and whatever else the machine does, so
that a thousandth is seen within a minute, where two processes differ by one or two percent for
reasons of their own. What the hooks cost while they do not measure is not in it, nor are the
sampler and the recorder: `benchmarks.cost` tells the whole.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from typing import Any

STEPS = 64
#: Python specialises a program's instructions while it runs for the first time.
STEPS_BEFORE = 2000
ON_OFF = (True, False, False, True)
TRAININGS = ("PPO", "DQN")


class Switch:
    """Called after every step: switches, and keeps how long each stretch took."""

    def __init__(self, profiler: Any, seconds: float) -> None:
        self._profiler = profiler
        self._until = time.perf_counter() + seconds
        self._steps = 0
        self._kinds = itertools.cycle(ON_OFF)
        self._now: bool | None = None
        self._began = 0.0
        self.stretches: list[tuple[bool, float]] = []

    def stepped(self, *_: Any) -> bool:
        self._steps += 1
        if self._steps % STEPS:
            return True
        ended = time.perf_counter()
        if self._now is not None:
            self.stretches.append((self._now, ended - self._began))
        self._now = next(self._kinds)
        (self._profiler.enable if self._now else self._profiler.disable)()
        self._began = time.perf_counter()
        return self._began < self._until


def ratios(stretches: list[tuple[bool, float]]) -> list[float]:
    """On against off, of each four stretches."""
    found = []
    for first in range(0, len(stretches) - len(ON_OFF) + 1, len(ON_OFF)):
        four = stretches[first : first + len(ON_OFF)]
        on = sum(seconds for is_on, seconds in four if is_on)
        found.append(on / sum(seconds for is_on, seconds in four if not is_on))
    return found


def middle(values: list[float]) -> tuple[float, float]:
    """The mean without a fifth at either end, and its standard error (Tukey and McLaughlin)."""
    ordered = sorted(values)
    cut = len(ordered) // 5
    kept = ordered[cut : len(ordered) - cut]
    winsorized = [kept[0]] * cut + kept + [kept[-1]] * cut
    error = statistics.stdev(winsorized) / (0.6 * len(ordered) ** 0.5)
    return statistics.fmean(kept), error


def measure(training: str, seconds: float) -> None:
    import torch
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.callbacks import ConvertCallback

    from hotloop import get_profiler
    from hotloop.hooks.context import HookContext
    from hotloop.hooks.install import Hooks

    torch.set_num_threads(1)
    profiler = get_profiler()
    hooks = Hooks(HookContext(profiler))
    hooks.install()
    profiler.enable()
    both: dict[str, Any] = {"policy": "MlpPolicy", "env": "CartPole-v1", "seed": 0, "device": "cpu"}
    model = (
        PPO(n_steps=STEPS, batch_size=64, n_epochs=4, **both)
        if training == "PPO"
        else DQN(learning_starts=100, **both)
    )
    model.learn(STEPS_BEFORE)
    switch = Switch(profiler, seconds)
    model.learn(10**9, callback=ConvertCallback(switch.stepped), reset_num_timesteps=False)
    hooks.uninstall()
    ratio, error = middle(ratios(switch.stretches))
    step_us = 1e6 * statistics.median(s for on, s in switch.stretches if not on) / STEPS
    count = len(switch.stretches)
    print(f"| {training} | {step_us:.0f} µs | {ratio:.4f} | {error:.4f} | {count} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=40.0, help="of each training")
    options = parser.parse_args()
    print("| training | a step | on against off | standard error | stretches |")
    print("|---|---|---|---|---|", flush=True)
    for training in TRAININGS:
        measure(training, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
