"""Slow advantages: a Python loop, value by value."""

from __future__ import annotations

import re

from hotloop.analyze.model import Analysis, Sample, seconds_of
from hotloop.diagnose.evidence import (
    finding,
    in_package,
    inner_lines,
    of_loop,
    seconds_in,
    vector_size,
)
from hotloop.diagnose.finding import MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import at_lines_that_call, called_at
from hotloop.diagnose.rules.learning.phase_code import code_of

#: Advantages below this share are not worth the work (72x faster gave 1.4% in public reports).
ADVANTAGE_SHARE = 0.05
#: A loop over steps whose body is one array operation remains: 4.1 to 0.057 s at best.
ADVANTAGE_WINS = (0.75, 0.985)
#: An operation on all environments takes up to this many times one on a single number, and there
#: are as many fewer of them as there are environments.
COLUMN_COSTS = 2.0


def python_gae(analysis: Analysis) -> list[Finding]:
    """Advantages are computed one number at a time."""
    if not seconds_in(analysis, "advantage"):
        return []
    samples = code_of(analysis, "advantage")
    # Recognized by its shape or inferred: code around the function may be part of it.
    guessed = "advantage" in analysis.notes.recognised
    if guessed and not analysis.run.env_steps:
        return []  # no rewards are collected
    own = sum(
        sample.seconds
        for sample in samples
        if _is_programs_own(sample)
        and not _makes_a_loss(analysis, sample)
        and not (guessed and _makes_batches(analysis, sample))
    )
    if own < 0.5 * seconds_of(samples) or not own:
        return []  # a library's own computation is what it is
    if at_lines_that_call(analysis, samples, _DRAWS_FROM_LIST)[0]:
        return []  # a replay buffer's rows are drawn there: off-policy, there are no advantages
    seconds = max(seconds_in(analysis, "advantage"), seconds_of(samples))
    if of_loop(analysis, seconds) < ADVANTAGE_SHARE:
        return []
    envs = vector_size(analysis)
    fix, before, after = _advantages_at_once(envs)
    return [
        finding(
            analysis,
            "python-gae",
            title=f"Computing advantages takes {of_loop(analysis, seconds):.0%} of the loop: a "
            "Python loop, value by value",
            phase="advantage",
            seconds=seconds,
            saves=(max(ADVANTAGE_WINS[0], 1 - COLUMN_COSTS / envs), ADVANTAGE_WINS[1]),
            confidence=MEDIUM,
            where=inner_lines(samples),
            fix=fix,
            before=before,
            after=after,
        )
    ]


def _advantages_at_once(envs: int) -> tuple[str, str, str]:
    """(fix, before, after) for the number of environments that there are."""
    body = "    last = delta[t] + gamma * lam * alive[t] * last; adv[t] = last"
    if envs == 1:
        return (
            "Keep tensors and arrays out of the loop: with one environment, each of their "
            "operations works on one number. Convert to lists of floats first, or let "
            "scipy.signal.lfilter do it without a loop.",
            f"for t in reversed(range(T)):          # delta is a tensor\n{body}",
            "delta, alive, adv = delta.tolist(), alive.tolist(), [0.0] * T\n"
            f"for t in reversed(range(T)):          # plain floats\n{body}",
        )
    return (
        "Loop over the steps once, with all environments as one array, and keep tensors out of "
        "the loop (convert to NumPy first).",
        "for i in range(envs):\n    for t in reversed(range(T)):\n        adv[t][i] = …",
        f"for t in reversed(range(T)):          # rows of all environments\n{body}",
    )


#: How rows are drawn from a buffer that is a plain list or deque.
_DRAWS_FROM_LIST = frozenset({"random.sample", "random.choices"})
_ARRAYS = in_package("torch", "numpy", "jax", "tensorflow")


def _is_programs_own(sample: Sample) -> bool:
    """Whether the code that uses arrays is the program's, not an RL library's."""
    return next((frame.of_program for frame in sample.frames if not _ARRAYS(frame)), False)


def _makes_a_loss(analysis: Analysis, sample: Sample) -> bool:
    """Whether the program's line makes a loss: a policy gradient does both between two events."""
    return any("loss" in name.lower() for name in called_at(analysis, sample.line).names)


#: Calls that reshape rows, select them or belong to the loop itself.
_SHAPES = frozenset(["stack", "vstack", "concatenate", "cat", "sample", "choice", "multinomial",
                     "shuffle", "permutation", "step", "backward", "pop", "recv",
                     "send"])  # fmt: skip
_BATCHES = re.compile(r"(?:^|[._])(?:make|get|build|to|sample|collate|next)_(?:mini)?batch", re.I)


def _makes_batches(analysis: Analysis, sample: Sample) -> bool:
    """Whether the program's line does something else between acting and learning.

    Where nothing identifies the code, only a loop that does none of this counts as one
    that goes through the rewards.
    """
    line = sample.line
    if line is None or _BATCHES.search(line.function):
        return True
    called = called_at(analysis, line)
    # A line that calls nothing has no entry: arithmetic.
    return bool(called.names) and (not called.loop_line or bool(called.short & _SHAPES))


RULES: tuple[Rule, ...] = (python_gae,)
