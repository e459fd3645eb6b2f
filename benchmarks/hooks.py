"""What the hooks alone cost a training: `python -m benchmarks.hooks`.

In one process the hooks are put on and taken off in turns, and short stretches of the same training
are timed with and without. That sees a percent where whole runs differ by several: the lower
quartile of the stretches leaves out what else the machine did. No sampler, no capture.
"""

from __future__ import annotations

import time
from typing import Any

from hotloop import get_profiler
from hotloop.hooks.install import Hooks

ROUNDS = 24
#: Stretches after each turn; the first after it is not timed, while caches fill.
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
    begin = time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    return time.perf_counter() - begin


def ratio(model: Any, steps: int) -> float:
    """Time with hooks over time without, by the lower quartile of each."""
    profiler = get_profiler()
    without: list[float] = []
    with_hooks: list[float] = []
    model.learn(1000)
    for turn in range(ROUNDS):
        for hooked in (False, True) if turn % 2 else (True, False):
            hooks = Hooks(profiler)
            if hooked:
                hooks.install()
                profiler.enable()
            stretch(model, steps)
            times = [stretch(model, steps) for _ in range(STRETCHES)]
            (with_hooks if hooked else without).extend(times)
            if hooked:
                hooks.uninstall()
                profiler.disable()
    return sorted(with_hooks)[len(with_hooks) // 4] / sorted(without)[len(without) // 4]


def main() -> None:
    print("| training | with hooks, times the plain loop |")
    print("|---|---|")
    for name, (model, steps) in trainings().items():
        print(f"| {name} (Stable-Baselines3, CartPole) | {ratio(model, steps):.3f} |", flush=True)


if __name__ == "__main__":
    main()
