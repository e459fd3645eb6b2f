"""How often `hotloop prove` confirms a change that does nothing, with the noise of real runs.

hotloop compare train.py train.py --folder pairs   record a program against itself
python -m benchmarks.diagnosis.nothing pairs       decide on pairs drawn from those

Each simulated pair has the ratio of a recorded one, with the sides exchanged at random, so that
there is no difference to find; `prove`'s own rule decides after each of its looks.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from pathlib import Path

from hotloop.analyze.comparing.compare import Figures
from hotloop.analyze.processes.contention import Contention
from hotloop.capture.schema import ENV_STEPS
from hotloop.experiment.command import parse_command
from hotloop.experiment.launch import Launch, Outcome
from hotloop.experiment.measured import Measured, measured, pair_figures
from hotloop.experiment.prover import ProofRule


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tries", type=int, default=600)
    options = parser.parse_args()
    ratios = [ratio(pair) for pair in sorted(options.folder.glob("pair-*")) if is_whole(pair)]
    spread = math.sqrt(sum(each**2 for each in ratios) / len(ratios))
    print(f"{len(ratios)} pairs; standard deviation of their log ratio: {spread:.3f}")
    for scale in (1.0, 0.25):
        for most in (4, 8, 14):
            found = verdicts([each * scale for each in ratios], most, options.tries)
            shares = ", ".join(
                f"{name} {n / options.tries:.1%}" for name, n in sorted(found.items())
            )
            print(f"noise x {scale:g}, at most {most} pairs: {shares}", flush=True)


def verdicts(ratios: list[float], most: int, tries: int) -> Counter[str]:
    """The verdicts on changes that do nothing."""
    chance = random.Random(0)
    rule = ProofRule(any_work=True, most=most)
    found: Counter[str] = Counter()
    for _ in range(tries):
        pairs: list[tuple[Figures, Figures]] = []
        for upto in rule.schedule:
            while len(pairs) < upto:
                first = math.exp(chance.choice(ratios) * chance.choice((-1, 1)))
                pairs.append((figures(first), figures(1.0)))
            comparison = rule.verdict(pairs, ENV_STEPS)
            if rule.enough(comparison):
                break
        found[comparison.whole.verdict] += 1
    return found


def figures(seconds: float) -> Figures:
    return Figures(seconds, {}, {}, {})


def is_whole(pair: Path) -> bool:
    return all((pair / f"{side}.json").exists() for side in "ab")


def ratio(pair: Path) -> float:
    """The log of the first side's time per step over the second's."""
    _, first, second = pair_figures(side(pair / "a"), side(pair / "b"))
    return math.log(first.seconds / second.seconds)


def side(capture: Path) -> Measured:
    kept = json.loads(Path(f"{capture}.json").read_text())
    marks = [(float(at), float(waited)) for at, waited in kept["contention"]["marks"]]
    waited = Contention(marks, kept["contention"]["due_to_others"])
    outcome = Outcome(kept["name"], str(capture), 0, kept["seconds"], contention=waited)
    return measured(outcome, Launch(kept["name"], parse_command(["train.py"]), str(capture)))


if __name__ == "__main__":
    main()
