"""How often comparisons are wrong, and what they find: `python -m benchmarks.comparisons`.

    python -m benchmarks.comparisons simulated           # 2,000 comparisons per kind of noise
    python -m benchmarks.comparisons same --tries 60     # a program against itself: an hour
    python -m benchmarks.comparisons slower --tries 10   # a program against itself, 10% slower

All use the default settings of `hotloop compare`. `same` and `slower` are real runs of
`benchmarks/tiny_loop.py`; results are appended to a file, so that an interrupted benchmark
continues where it stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hotloop.analyze.comparing.compare import Figures
from hotloop.analyze.comparing.judgement import FASTER, SAME, SLOWER
from hotloop.analyze.comparing.sequential import Rule
from hotloop.experiment.order import pair_orders

PROGRAM = Path(__file__).with_name("tiny_loop.py")

#: Share of the tiny loop's time that each phase is: what slows it by 10% follows from it.
SHARES = {"env.step": 0.477, "policy.act": 0.286, "learn.backward": 0.143, "learn.forward": 0.094}
SLOWDOWN = 0.10

# -- simulated --

Noise = Callable[[random.Random, int], list[float]]


def white(chance: random.Random, n: int) -> list[float]:
    return [chance.gauss(0, 0.05) for _ in range(n)]


def autocorrelated(rho: float) -> Noise:
    def noise(chance: random.Random, n: int) -> list[float]:
        values = [chance.gauss(0, 0.05)]
        while len(values) < n:
            values.append(rho * values[-1] + math.sqrt(1 - rho * rho) * chance.gauss(0, 0.05))
        return values

    return noise


def drifting(chance: random.Random, n: int) -> list[float]:
    """Every run a percent slower than the one before: a machine that gets hot."""
    return [0.01 * i + chance.gauss(0, 0.03) for i in range(n)]


def wandering(chance: random.Random, n: int) -> list[float]:
    values = [0.0]
    while len(values) < n:
        values.append(values[-1] + chance.gauss(0, 0.03))
    return [value + chance.gauss(0, 0.02) for value in values]


def stepping(chance: random.Random, n: int) -> list[float]:
    """Another program starts and slows everything by a fifth from then on."""
    begin = chance.randrange(n)
    return [(0.2 if i >= begin else 0.0) + chance.gauss(0, 0.03) for i in range(n)]


def spiky(chance: random.Random, n: int) -> list[float]:
    """One run in ten is disturbed, by a third on the average."""
    return [
        chance.gauss(0, 0.02) + (chance.expovariate(3.0) if chance.random() < 0.1 else 0.0)
        for _ in range(n)
    ]


NOISES: dict[str, Noise] = {
    "white": white,
    "autocorrelated 0.3": autocorrelated(0.3),
    "autocorrelated 0.5": autocorrelated(0.5),
    "autocorrelated 0.8": autocorrelated(0.8),
    "drifting": drifting,
    "wandering": wandering,
    "stepping": stepping,
    "spiky": spiky,
}

RULES = {
    "default": Rule(),
    "--pairs 10": Rule(pairs=10),
    "--until 2%": Rule(until=0.02),
}


def simulate(noise: Noise, rule: Rule, effect: float, chance: random.Random) -> tuple[str, int]:
    """(verdict, pairs) of one made-up comparison in which the second takes `effect` longer."""
    schedule = rule.schedule
    orders = pair_orders(schedule)  # the very order of a real comparison
    values = noise(chance, 2 * schedule[-1])
    pairs = []
    for number, second_first in enumerate(orders):
        early, late = values[2 * number : 2 * number + 2]
        first, second = (late, early) if second_first else (early, late)
        pairs.append((_figures(math.exp(first)), _figures((1 + effect) * math.exp(second))))
    for upto in schedule:
        comparison = rule.verdict(pairs[:upto], "env_steps")
        if rule.enough(comparison):
            break
    return comparison.whole.verdict, comparison.pairs


def _figures(seconds: float) -> Figures:
    return Figures(seconds, {}, {}, {})


def simulated(tries: int) -> bool:
    print(
        f"{tries} simulated comparisons each. false: a verdict of faster or slower on equal sides."
    )
    print("found: a slowdown of 10% called slower.\n")
    print(
        f"{'noise':<20} {'rule':<12} {'false':>7} {'no difference':>14} {'pairs':>6} {'found':>7}"
    )
    good = True
    for name, noise in NOISES.items():
        for rule_name, rule in RULES.items():
            chance = random.Random(f"{name} {rule_name}")
            equal = [simulate(noise, rule, 0.0, chance) for _ in range(tries)]
            slow = [simulate(noise, rule, SLOWDOWN, chance) for _ in range(tries // 10)]
            false = sum(verdict in (FASTER, SLOWER) for verdict, _ in equal) / tries
            same = sum(verdict == SAME for verdict, _ in equal) / tries
            pairs = sum(n for _, n in equal) / tries
            found = sum(verdict == SLOWER for verdict, _ in slow) / len(slow)
            figures = f"{false:>7.2%} {same:>14.1%} {pairs:>6.1f} {found:>7.1%}"
            print(f"{name:<20} {rule_name:<12} {figures}", flush=True)
            good = good and false <= 0.05
    return good


# -- real --


def compare(first: list[str], second: list[str], options: list[str]) -> dict[str, Any]:
    """One real comparison of the tiny loop, as a user would make it."""
    commands = [" ".join([str(PROGRAM), *arguments]) for arguments in (first, second)]
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [sys.executable, "-m", "hotloop", "compare", *commands, "--format", "json", *options],
            cwd=folder,
            capture_output=True,
            text=True,
        )
    if result.returncode:
        raise SystemExit(f"the comparison failed:\n{result.stderr}")
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def same(tries: int, steps: int, results: Path) -> bool:
    """A program against itself: every verdict of faster or slower is false."""
    rows = _load(results)
    while len(rows) < tries:
        arguments = ["--steps", str(steps)]
        rows.append(_keep(results, compare(arguments, arguments, [])))
    verdicts = Counter(row["verdict"] for row in rows)
    false = verdicts[FASTER] + verdicts[SLOWER]
    phases = sum(any(p in (FASTER, SLOWER) for p in row["phases"].values()) for row in rows)
    print(f"{len(rows)} real comparisons of a program with itself: {dict(verdicts)}")
    print(f"  false verdicts on the whole: {false} of {len(rows)} ({false / len(rows):.1%})")
    print(f"  comparisons with a false verdict on any phase: {phases} of {len(rows)}")
    print(f"  pairs: {sum(row['pairs'] for row in rows) / len(rows):.1f} on the average")
    print(f"  time others had the core: up to {max(row['waited'] for row in rows):.0%}")
    return false / len(rows) <= 0.05


def slower(tries: int, steps: int, results: Path) -> bool:
    """A program against itself with one phase slowed so that the loop takes 10% longer."""
    rows = _load(results)
    phases = list(SHARES)
    while len(rows) < tries:
        phase = phases[len(rows) % len(phases)]
        slow = ["--slow", f"{phase}={SLOWDOWN / SHARES[phase]:.4f}"]
        arguments = ["--steps", str(steps)]
        rows.append({**_keep(results, compare(arguments, arguments + slow, []), slowed=phase)})
    found = sum(row["verdict"] == SLOWER for row in rows)
    named = sum(row["responsible"] == row["slowed"] for row in rows)
    wrong = sum(row["responsible"] not in (row["slowed"], None) for row in rows)
    print(f"{len(rows)} real comparisons with a slowdown of {SLOWDOWN:.0%}: found in {found}")
    print(
        f"  the phase that was slowed is the one that is named: {named}; another is named: {wrong}"
    )
    ratios = ", ".join(f"{1 / row['estimate']:.3f}" for row in rows)
    print(f"  measured: {ratios}")
    return found >= 0.9 * len(rows) and not wrong


def _load(results: Path) -> list[dict[str, Any]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def _keep(results: Path, document: dict[str, Any], **more: Any) -> dict[str, Any]:
    row = {
        "verdict": document["verdict"],
        "pairs": document["pairs"],
        "estimate": document["ratio"]["estimate"],
        "low": document["ratio"]["low"],
        "high": document["ratio"]["high"],
        "waited": document["waited"],
        "responsible": document["responsible"],
        "phases": {phase["name"]: phase["verdict"] for phase in document["phases"]},
        "samples": document["samples"],
        **more,
    }
    with open(results, "a") as file:
        file.write(json.dumps(row) + "\n")
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("simulated", "same", "slower"))
    parser.add_argument("--tries", type=int, help="how many comparisons (2000, 60 and 10)")
    parser.add_argument("--steps", type=int, default=4000, help="steps of each real run")
    parser.add_argument("--results", type=Path, help="where real results are kept")
    options = parser.parse_args()
    if options.what == "simulated":
        return 0 if simulated(options.tries or 2000) else 1
    results = options.results or Path(tempfile.gettempdir()) / f"hotloop-{options.what}.jsonl"
    print(f"results are kept in {results}", flush=True)
    call = same if options.what == "same" else slower
    tries = options.tries or (60 if options.what == "same" else 10)
    return 0 if call(tries, options.steps, results) else 1


if __name__ == "__main__":
    sys.exit(main())
