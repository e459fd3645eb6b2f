"""Simulated power and false verdicts of `compare --to-return`.

    python -m benchmarks.time_to_return --tries 200

Times to a return are log-normal with the given spread between seeds; runs are cut off at a limit. A
verdict is false if it is given for settings that do not differ, or for the wrong side.
"""

from __future__ import annotations

import argparse
import math
import random

from hotloop.analyze.comparing.time_to_return import Time, factor_of


def drawn(
    chance: random.Random, shared: list[float], scale: float, spread: float, limit: float
) -> list[Time]:
    """Times of one setting, one per seed; those above the limit are censored."""
    times = [scale * math.exp(each + chance.gauss(0.0, spread)) for each in shared]
    return [(min(time, limit), time <= limit) for time in times]


def verdicts(
    tries: int, seeds: int, ratio: float, spread: float, limit: float, shared: float
) -> tuple[float, float]:
    """Shares of right and of wrong verdicts; the second setting is `ratio` times sooner.

    Both runs of a seed share a factor with the spread `shared`, as on a machine that is busy now
    and then.
    """
    chance = random.Random(seeds)
    right = wrong = 0
    for _ in range(tries):
        both = [chance.gauss(0.0, shared) for _ in range(seeds)]
        first = drawn(chance, both, ratio, spread, limit)
        second = drawn(chance, both, 1.0, spread, limit)
        verdict = factor_of(list(zip(first, second, strict=True))).verdict
        right += verdict == 1 and ratio > 1.0
        wrong += verdict == -1 or (verdict == 1 and ratio == 1.0)
    return right / tries, wrong / tries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--spread", type=float, default=0.3)
    parser.add_argument("--ratios", type=float, nargs="+", default=[1.0, 1.3, 1.6, 2.0])
    options = parser.parse_args()
    print("| true factor | limit | shared | right verdict | wrong verdict |")
    print("|---|---|---|---|---|")
    for limit, shared in ((math.inf, 0.0), (math.inf, options.spread), (1.3, 0.0)):
        for ratio in options.ratios:
            right, wrong = verdicts(
                options.tries, options.seeds, ratio, options.spread, limit, shared
            )
            shown = "none" if limit == math.inf else f"{limit:g} times the median"
            print(f"| {ratio:g} | {shown} | {shared:g} | {right:.0%} | {wrong:.1%} |", flush=True)


if __name__ == "__main__":
    main()
