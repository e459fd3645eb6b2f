"""What measuring and resting add, in one process: `python -m benchmarks.switching [--seconds 40]`.

The hooks are in place all the time. They are off, rest or measure in stretches of 64 steps, in an
order that cancels a steady change of the machine. All kinds of stretches share a process, its
memory and whatever else the machine does, so that a thousandth is seen within a minute, where two
processes differ by one or two percent for reasons of their own. The clock is the CPU time of the
training thread: other programs disturb it only through the caches. What the hooks cost while they
are off is not in it, nor are the sampler and the recorder: `benchmarks.cost` tells the whole.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

STEPS = 64
#: Python specialises a program's instructions while it runs for the first time.
STEPS_BEFORE = 2000
OFF, RESTING, MEASURING = "off", "resting", "measuring"
ROUND = (OFF, RESTING, MEASURING, MEASURING, RESTING, OFF)
TRAININGS = ("PPO", "DQN")


class Switch:
    """Called after every step: switches, and keeps how long each stretch took."""

    def __init__(self, switch_to: Callable[[str], None], seconds: float) -> None:
        self._switch_to = switch_to
        self._until = time.perf_counter() + seconds
        self._steps = 0
        self._kinds = itertools.cycle(ROUND)
        self._kind = ""
        #: The stretch after a switch is not counted: code and data are cold then.
        self._settles = False
        self._began = 0.0
        self.stretches: list[tuple[str, float]] = []

    def stepped(self, *_: Any) -> bool:
        self._steps += 1
        if self._steps % STEPS:
            return True
        ended = time.thread_time()
        if self._settles:
            self._settles = False
        else:
            if self._kind:
                self.stretches.append((self._kind, ended - self._began))
            before, self._kind = self._kind, next(self._kinds)
            self._settles = self._kind != before
            if self._settles:
                self._switch_to(self._kind)
        self._began = time.thread_time()
        return time.perf_counter() < self._until


def ratios(stretches: list[tuple[str, float]], kind: str) -> list[float]:
    """That kind against off, of each round."""
    found = []
    for first in range(0, len(stretches) - len(ROUND) + 1, len(ROUND)):
        whole = stretches[first : first + len(ROUND)]
        on = sum(seconds for each, seconds in whole if each == kind)
        found.append(on / sum(seconds for each, seconds in whole if each == OFF))
    return found


def middle(values: list[float]) -> tuple[float, float]:
    """The mean without a fifth at either end, and its standard error (Tukey and McLaughlin)."""
    ordered = sorted(values)
    cut = len(ordered) // 5
    kept = ordered[cut : len(ordered) - cut]
    winsorized = [kept[0]] * cut + kept + [kept[-1]] * cut
    error = statistics.stdev(winsorized) / (0.6 * len(ordered) ** 0.5)
    return statistics.fmean(kept), error


def switch(profiler: Any, kind: str) -> None:
    """Let the hooks be off, rest or measure."""
    from benchmarks.hooks import rest

    profiler.core.stretches(None, 0, 0, 0, [], frozenset())
    if kind == OFF:
        profiler.disable()
        return
    profiler.enable()
    if kind == RESTING:
        rest(profiler.core)


def measure(training: str, seconds: float) -> None:
    sys.modules["tensorflow"] = None  # type: ignore[assignment]  # TensorBoard would import it
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
    stretches = Switch(lambda kind: switch(profiler, kind), seconds)
    callback = ConvertCallback(stretches.stepped)
    model.learn(10**9, callback=callback, reset_num_timesteps=False)
    hooks.uninstall()
    found = stretches.stretches
    step_us = 1e6 * statistics.median(s for kind, s in found if kind == OFF) / STEPS
    figures = [
        f"{ratio:.4f} ± {error:.4f}"
        for ratio, error in (middle(ratios(found, kind)) for kind in (RESTING, MEASURING))
    ]
    print(f"| {training} | {step_us:.0f} µs | {' | '.join(figures)} | {len(found)} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=40.0, help="of each training")
    options = parser.parse_args()
    print("| training | a step, off | resting | measuring | stretches |")
    print("|---|---|---|---|---|", flush=True)
    for training in TRAININGS:
        measure(training, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
