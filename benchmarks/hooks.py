"""What the hooks alone cost a training, or all of hotloop: `python -m benchmarks.hooks [--whole]`.

In one process the hooks are put on and taken off in turns, and short stretches of the same training
are timed with and without, by the processor time of its thread. The figure is the median over all
turns of (with / without) in the same turn, with a 95% bootstrap of that median: a percent is seen
where whole runs differ by several. Without `--whole` no sampler and no capture; with it, a whole
recording is begun and ended in each turn, and its stretches are longer.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import interval
from hotloop import get_profiler
from hotloop.hooks.install import Hooks
from hotloop.integrations import record

TURNS, TURNS_OF_WHOLE = 60, 24
#: A recording's sampler and windows show only over some tenths of a second.
LONGER = 4
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


@contextlib.contextmanager
def hooked() -> Iterator[None]:
    """The hooks are on, and nothing else."""
    profiler = get_profiler()
    hooks = Hooks(profiler)
    hooks.install()
    profiler.enable()
    try:
        yield
    finally:
        hooks.uninstall()
        profiler.disable()


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """All of hotloop is on, as `hotloop run` has it by default."""
    with tempfile.TemporaryDirectory() as folder, record(Path(folder) / "capture", quiet=True):
        yield


def half(model: Any, steps: int, on: contextlib.AbstractContextManager[Any]) -> float:
    """Seconds of some stretches under `on`."""
    with on:
        stretch(model, steps)
        times = sorted(stretch(model, steps) for _ in range(STRETCHES))
    return sum(times[:-1])


def ratios(model: Any, steps: int, whole: bool) -> list[float]:
    """Time with hotloop over time without, a turn each."""
    model.learn(1000)
    found = []
    for turn in range(TURNS_OF_WHOLE if whole else TURNS):
        first = bool(turn % 2)
        times = {}
        for with_it in (first, not first):
            on = (recorded() if whole else hooked()) if with_it else contextlib.nullcontext()
            times[with_it] = half(model, steps * (LONGER if whole else 1), on)
        found.append(times[True] / times[False])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--whole", action="store_true", help="all of hotloop, not the hooks alone")
    whole = parser.parse_args().whole
    what = "hotloop" if whole else "hooks"
    print(f"| training | with {what}, times the plain loop | 95% interval |")
    print("|---|---|---|")
    for name, (model, steps) in trainings().items():
        found = ratios(model, steps, whole)
        low, high = interval(found)
        figures = f"{statistics.median(found):.3f} | {low:.3f} to {high:.3f} |"
        print(f"| {name} (Stable-Baselines3, CartPole) | {figures}", flush=True)


if __name__ == "__main__":
    main()
