"""What the hooks alone cost a training: `python -m benchmarks.hooks`.

In one process the hooks are put on and taken off in turns, and short stretches of the same training
are timed with and without, by the processor time of its thread. The figure is the median over all
turns of (with / without) in the same turn, with a 95% bootstrap of that median: a percent is seen
where whole runs differ by several. No sampler, no capture.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.figures import interval
from hotloop import get_profiler
from hotloop.hooks.install import Hooks

TURNS = 60
#: Stretches of each half of a turn; the first after a change is not timed, while caches fill, and
#: of the others the slowest is left out.
STRETCHES = 3


def trainings() -> dict[str, tuple[Any, int]]:
    """Name -> (a model of Stable-Baselines3 on CartPole, environment steps of a stretch)."""
    import torch
    from stable_baselines3 import DQN, PPO

    torch.set_num_threads(1)
    both = {"policy": "MlpPolicy", "env": "CartPole-v1", "seed": 0, "device": "cpu"}
    return {
        "PPO": (PPO(n_steps=128, batch_size=64, n_epochs=4, **both), 128),
        "DQN": (DQN(learning_starts=100, train_freq=4, **both), 200),
    }


def stretch(model: Any, steps: int) -> float:
    begin = time.thread_time()
    model.learn(steps, reset_num_timesteps=False)
    return time.thread_time() - begin


def half(model: Any, steps: int, hooked: bool) -> float:
    """Seconds of some stretches with hooks, or without."""
    profiler = get_profiler()
    hooks = Hooks(profiler)
    if hooked:
        hooks.install()
        profiler.enable()
    stretch(model, steps)
    times = sorted(stretch(model, steps) for _ in range(STRETCHES))
    if hooked:
        hooks.uninstall()
        profiler.disable()
    return sum(times[:-1])


def ratios(model: Any, steps: int) -> list[float]:
    """Time with hooks over time without, a turn each."""
    model.learn(1000)
    found = []
    for turn in range(TURNS):
        first = bool(turn % 2)
        times = {hooked: half(model, steps, hooked) for hooked in (first, not first)}
        found.append(times[True] / times[False])
    return found


def main() -> None:
    print("| training | with hooks, times the plain loop | 95% interval |")
    print("|---|---|---|")
    for name, (model, steps) in trainings().items():
        found = ratios(model, steps)
        low, high = interval(found)
        figures = f"{statistics.median(found):.3f} | {low:.3f} to {high:.3f} |"
        print(f"| {name} (Stable-Baselines3, CartPole) | {figures}", flush=True)


if __name__ == "__main__":
    main()
