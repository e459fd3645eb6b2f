"""Simulated power and false verdicts of `compare --to-return`.

    python -m benchmarks.time_to_return --tries 200

Times to a return are log-normal with the given spread between seeds; runs are cut off at a limit. A
verdict is false if it is given for settings that do not differ, or for the wrong side.
"""

from __future__ import annotations

import argparse
import math
import random

from hotloop.analyze.time_to_return import Time, factor_of


def drawn(
    chance: random.Random, seeds: int, scale: float, spread: float, limit: float
) -> list[Time]:
    """Times of one setting; those above the limit are censored."""
    times = [scale * math.exp(chance.gauss(0.0, spread)) for _ in range(seeds)]
    return [(min(time, limit), time <= limit) for time in times]


def verdicts(
    tries: int, seeds: int, ratio: float, spread: float, limit: float
) -> tuple[float, float]:
    """Shares of right and of wrong verdicts; the second setting is `ratio` times sooner."""
    chance = random.Random(seeds)
    right = wrong = 0
    for _ in range(tries):
        first = drawn(chance, seeds, ratio, spread, limit)
        second = drawn(chance, seeds, 1.0, spread, limit)
        verdict = factor_of(list(zip(first, second, strict=True))).verdict
        right += verdict == 1 and ratio > 1.0
        wrong += verdict == -1 or (verdict == 1 and ratio == 1.0)
    return right / tries, wrong / tries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--spread", type=float, default=0.3)
    options = parser.parse_args()
    print("| true factor | limit | right verdict | wrong verdict |")
    print("|---|---|---|---|")
    for limit in (math.inf, 1.3):
        for ratio in (1.0, 1.3, 1.6, 2.0):
            right, wrong = verdicts(options.tries, options.seeds, ratio, options.spread, limit)
            shown = "none" if limit == math.inf else f"{limit:g} times the median"
            print(f"| {ratio:g} | {shown} | {right:.0%} | {wrong:.1%} |", flush=True)


if __name__ == "__main__":
    main()
