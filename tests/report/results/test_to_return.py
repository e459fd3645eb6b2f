"""Time to a return, as a sentence."""

from __future__ import annotations

from math import inf

import pytest

from hotloop.analyze.comparing.time_to_return import Attempt, Factor, TimeToReturn
from hotloop.report.results.to_return import headline


def result(seeds: int, time: Factor, steps: Factor, speed: Factor) -> TimeToReturn:
    side = [Attempt(seed, 1.0, 100.0, True, 100.0) for seed in range(seeds)]
    commands = ("train.py", "train.py --b")
    return TimeToReturn(("a", "b"), commands, 195.0, "runs", (side, side), time, steps, speed)


OPEN = Factor(1.3, 0.0, inf)


@pytest.mark.parametrize(
    ("seeds", "time", "steps", "speed", "sentence"),
    [
        (3, OPEN, OPEN, OPEN, "3 seeds are too few to tell which reaches 195 sooner."),
        (8, Factor(1.8, 1.2, inf), Factor(1.8, 1.2, inf), Factor(1.0, 0.98, 1.02),
         "b is about as fast in steps/s, needs fewer steps (about 1.8 times within the time "
         "observed; no upper end) and reaches 195 sooner (about 1.8 times within the time "
         "observed; no upper end, 8 seeds)."),
        (8, Factor(1.3, 1.1, 1.5), Factor(0.62, 0.5, 0.8), Factor(2.1, 2.0, 2.2),
         "b makes 2.1 times the steps/s, needs 1.6 times the steps and reaches 195 1.3 times "
         "sooner (1.1 to 1.5, 8 seeds)."),
    ],
)  # fmt: skip
def test_the_headline(
    seeds: int, time: Factor, steps: Factor, speed: Factor, sentence: str
) -> None:
    assert headline(result(seeds, time, steps, speed)) == sentence
