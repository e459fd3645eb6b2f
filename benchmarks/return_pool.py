"""A pool of real runs, and how often a few of them give the verdict of all.

    nice -n 10 python -m benchmarks.return_pool record pool.json --seeds 30
    python -m benchmarks.return_pool judge pool.json

`record` trains a small PPO and a small DQN on CartPole, each with two settings that trade speed for
learning, over the same seeds, until the mean return of 100 episodes reaches a target. Times are CPU
time of the process, which other programs on the machine change less than wall-clock time. It
continues a pool that is there. `judge` takes the verdict of the whole pool as the reference, draws
tries of a few seeds from it, and judges each as `compare --to-return` does.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter, deque
from dataclasses import asdict
from pathlib import Path

from hotloop.analyze.comparing.time_to_return import (
    CANNOT_TELL,
    NOT_REACHED,
    Attempt,
    TimeToReturn,
    judge,
)
from hotloop.analyze.over_time.returns import RECENT

#: Algorithm -> the return to reach, and both settings.
SETTINGS = {
    "ppo": (195.0, ("--epochs 10 --steps 60000", "--epochs 2 --steps 60000")),
    "dqn": (120.0, ("--learn-every 1 --steps 30000", "--learn-every 2 --steps 30000")),
}
UNDECIDED = (CANNOT_TELL, NOT_REACHED)

Pool = dict[str, list[list[Attempt]]]


def attempt(algorithm: str, setting: str, seed: int, target: float) -> Attempt:
    """One run, timed from its first call to the training function."""
    from benchmarks.programs.cartpole_torch import parser, train

    recent: deque[float] = deque(maxlen=RECENT)
    made = [0]
    begin_s = time.process_time()

    def ended(steps: int, total: float) -> bool:
        recent.append(float(total))
        made[0] = steps
        return len(recent) == RECENT and sum(recent) / RECENT >= target

    train(parser.parse_args([algorithm, *setting.split(), "--seed", str(seed)]), ended)
    seconds = time.process_time() - begin_s
    last = sum(recent) / len(recent)
    reached = len(recent) == RECENT and last >= target
    return Attempt(seed, seconds, made[0], reached, made[0] / seconds, last)


def read(path: Path) -> Pool:
    stored = json.loads(path.read_text()) if path.exists() else {}
    return {
        algorithm: [[Attempt(**each) for each in side] for side in stored.get(algorithm, [[], []])]
        for algorithm in SETTINGS
    }


def record(path: Path, seeds: int) -> None:
    pool = read(path)
    for seed in range(1, seeds + 1):
        for algorithm, (target, settings) in SETTINGS.items():
            sides = pool[algorithm]
            if len(sides[0]) >= seed:
                continue
            order = (0, 1) if seed % 2 else (1, 0)  # the machine may drift
            both = {side: attempt(algorithm, settings[side], seed, target) for side in order}
            for side in order:
                sides[side].append(both[side])
            path.write_text(
                json.dumps({k: [[asdict(a) for a in s] for s in v] for k, v in pool.items()})
            )
            took = ", ".join(f"{both[n].seconds:.1f} s" for n in (0, 1))
            print(f"{algorithm}, seed {seed}: {took}", flush=True)


def judged(algorithm: str, sides: list[list[Attempt]]) -> TimeToReturn:
    target, settings = SETTINGS[algorithm]
    result = TimeToReturn(settings, settings, target, "", (sides[0], sides[1]))
    judge(result)
    return result


def judge_pool(path: Path, tries: int, seeds: int) -> None:
    print("| program | pool | factor in time | verdict of the pool | same | undecided | opposite |")
    print("|---|---|---|---|---|---|---|")
    for algorithm, sides in read(path).items():
        whole = judged(algorithm, sides)
        assert whole.time is not None
        chance = random.Random(0)
        found: Counter[str] = Counter()
        for _ in range(tries):
            drawn = chance.sample(range(len(sides[0])), seeds)
            verdict = judged(algorithm, [[side[n] for n in drawn] for side in sides]).verdict
            same, undecided = verdict == whole.verdict, verdict in UNDECIDED
            found["same" if same else "undecided" if undecided else "opposite"] += 1
        shares = " | ".join(
            f"{found[key] / tries:.0%}" for key in ("same", "undecided", "opposite")
        )
        factor = f"{whole.time.estimate:.2f} ({whole.time.low:.2f} to {whole.time.high:.2f})"
        verdict = f"{whole.verdict}; {whole.trade or 'trade unclear'}"
        print(f"| {algorithm} | {len(sides[0])} seeds | {factor} | {verdict} | {shares} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["record", "judge"])
    parser.add_argument("pool", type=Path)
    parser.add_argument("--seeds", type=int, help="to record (30), or of each try (8)")
    parser.add_argument("--tries", type=int, default=40)
    options = parser.parse_args()
    if options.what == "record":
        record(options.pool, options.seeds or 30)
    else:
        judge_pool(options.pool, options.tries, options.seeds or 8)


if __name__ == "__main__":
    main()
