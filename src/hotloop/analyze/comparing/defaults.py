"""Defaults of experiments; imports nothing, so `--help` is fast."""

from __future__ import annotations

#: A difference below this is called none, where the interval shows that it is: an effect of a few
#: percent is worth knowing, but rarely worth another hour of runs. `--margin` changes it.
MARGIN = 0.05
#: Interleaved pairs of a comparison, at most.
MOST_PAIRS = 20
#: The same for `--until`, which asks for more certainty.
MOST_PAIRS_UNTIL = 60
#: Rounds of a sweep.
ROUNDS = 3

#: The values of `--expect`, and their meaning.
EXPECTATIONS = {
    "linear": "linear-throughput if runs are stopped early, otherwise linear-time",
    "linear-throughput": "twice the number, twice the steps per second",
    "linear-time": "twice the number, twice the time",
    "constant": "the same time per step, whatever the number",
}

#: Seeds of each command with `compare --to-return`: from six on an interval can exclude anything.
SEEDS = 8
