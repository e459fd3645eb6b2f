"""What the hooks add to a training run, counted instead of timed: `python -m benchmarks.hooks`.

The instructions that PPO and DQN of Stable-Baselines3 execute for the same 256 steps: without
hotloop, with the hooks in place but switched off, with the hooks measuring, and while they rest
between two stretches. Valgrind counts them, so that a busy machine does not matter; two counts of
the same differ by a thousandth or two.
`benchmarks.cost` measures their time: a count does not include caches and branches. The sampler
and the recorder, which run on a timer, are left out.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

STEPS = 256
#: Python specialises a program's instructions while it runs for the first time.
STEPS_BEFORE = 512
TRAININGS = ("PPO", "DQN")
MODES = ("plain", "standing", "measuring", "resting")

#: How the program tells Valgrind where to begin and to end.
SWITCH = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(void) { CALLGRIND_STOP_INSTRUMENTATION; }
"""


def train(training: str, mode: str, switch: str) -> None:
    """In a process of its own, under Valgrind."""
    import torch
    from stable_baselines3 import DQN, PPO

    torch.set_num_threads(1)
    both = {"policy": "MlpPolicy", "env": "CartPole-v1", "seed": 0, "device": "cpu"}
    model = (
        PPO(n_steps=128, batch_size=64, n_epochs=4, **both)
        if training == "PPO"
        else DQN(learning_starts=100, **both)
    )
    if mode != "plain":
        from hotloop import get_profiler
        from hotloop.hooks.context import HookContext
        from hotloop.hooks.install import Hooks

        Hooks(HookContext(get_profiler())).install()
        if mode in ("measuring", "resting"):
            get_profiler().enable()
    model.learn(STEPS_BEFORE)
    if mode == "resting":
        rest(get_profiler().core)
        model.learn(4 * 128, reset_num_timesteps=False)
    counted = ctypes.CDLL(switch)
    gc.disable()
    counted.begin()
    model.learn(STEPS, reset_num_timesteps=False)
    counted.end()


def rest(core: Any) -> None:
    """Let hooks rest from the next entry of `collect` on, for the remaining run."""
    from hotloop import phases
    from hotloop.capture import schema
    from hotloop.measure.stretches import ALWAYS_ON

    # As `measure.stretches` plans it: all phases with more than a few calls a second.
    called = {name for _, _, name, _ in core.nodes(0) if name is not None}
    rested = sorted((called | set(phases.LOOP_PHASES)) - ALWAYS_ON)
    core.stretches("collect", 0, 1, 10**9, rested, schema.RESTED_COUNTERS)


def instructions(training: str, mode: str, switch: Path) -> int:
    """How many the steps take."""
    command = [
        *("valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=/dev/null"),
        *(sys.executable, "-m", "benchmarks.hooks", "--train", training, mode, str(switch)),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    match = re.search(r"I +refs: +([\d,]+)", done.stderr)
    assert match, done.stderr
    return int(match[1].replace(",", ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--train", nargs=3, help=argparse.SUPPRESS)  # see `instructions`
    options = parser.parse_args()
    if options.train:
        train(*options.train)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        switch = Path(folder) / "switch.so"
        source = switch.with_suffix(".c")
        source.write_text(SWITCH)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", switch, source], check=True)
        print("| training | instructions a step, plain | standing | measuring | resting |")
        print("|---|---|---|---|---|")
        for training in TRAININGS:
            plain, *others = (instructions(training, mode, switch) for mode in MODES)
            added = " | ".join(f"{each / plain - 1:+.2%}" for each in others)
            print(f"| {training} | {plain / STEPS:,.0f} | {added} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
