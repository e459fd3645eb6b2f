"""Causes of slow tree search and self-play: networks that get one position at a time."""

from __future__ import annotations

from itertools import chain

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    calls_of,
    finding,
    of_loop,
    samples_under,
    seconds_in,
    share_of,
    use_by,
    where,
)
from hotloop.diagnose.finding import LOW, MEDIUM, WARNING, Finding, Rule
from hotloop.diagnose.recorded import at, called_at, counted

#: From this share of the loop on, and with fewer positions per forward pass than this.
WORTH_IT = 0.1
FEW_LEAVES = 2.0


def one_leaf_per_pass(analysis: Analysis) -> list[Finding]:
    """The network judges one position of the tree at a time."""
    share, calls = share_of(analysis, "search.network"), calls_of(analysis, "search.network")
    if share < WORTH_IT or not calls:
        return []
    leaves = analysis.run.counters.get(schema.SEARCH_LEAVES, 0.0) / calls
    if leaves >= FEW_LEAVES:
        return []
    return [
        finding(
            analysis,
            "one-leaf-per-pass",
            title=f"The network evaluates {units.plural(leaves, 'position')} per forward pass "
            f"in tree search: "
            f"these passes are {share:.0%} of the loop",
            phase="search.network",
            seconds=seconds_in(analysis, "search.network"),
            saves=(0.4, 0.9),
            fix="Play several games at once and evaluate a leaf of each in one forward pass, "
            "or collect several leaves of one tree with a virtual loss.",
            confidence=MEDIUM,
            where=where(analysis, "search.network"),
            evidence={"positions_per_pass": leaves, "passes": calls},
            learning="With a virtual loss, the search visits slightly different nodes; games "
            "played in parallel search as before.",
        )
    ]


#: Forward passes that neither act nor learn are worth a word from this share on.
INFERENCE_SHARE = 0.2
#: With this many per gradient step, they are more than one state's value for an update.
MANY_PASSES = 16
#: As for leaves of a search: a batch of 8 to 16 costs little more than one row, and rows still have
#: to be stacked.
BATCH_WINS = (0.4, 0.9)
BATCH_THEM = (
    "A batch of 16 takes barely longer than one row. If several games, agents, environments or "
    "leaves of a search are waiting for an answer, stack their inputs and call the network "
    "once for all of them."
)


def one_row_inference(analysis: Analysis) -> list[Finding]:
    """A network is asked about one row at a time, and nothing shows what for.

    It may be a search, self-play, many agents or a reward model: where no environment is
    recognized, only the rows and the order of the calls are known.
    """
    calls, rows = calls_of(analysis, "inference"), counted(analysis, schema.INFERENCE_ROWS)
    updates = analysis.run.gradient_steps
    if not calls or not rows or rows / calls >= FEW_LEAVES:
        return []
    if updates and calls / updates < MANY_PASSES:
        return []
    passes, own = _asking(analysis)
    seconds = max(seconds_in(analysis, "inference"), passes) + own
    if of_loop(analysis, seconds_in(analysis, "inference")) < INFERENCE_SHARE:
        return []
    lines = _asking_lines(analysis)
    each = f", {units.plural(calls / updates, 'time')} per gradient step" if updates else ""
    return [
        finding(
            analysis,
            "unbatched-policy",
            title=f"The network is called with batch size "
            f"{units.amount(rows / calls)}{at(lines)}{each}: "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="inference",
            seconds=seconds,
            saves=BATCH_WINS,
            confidence=LOW,
            severity=WARNING,  # batch size 1 may be intended with one environment
            where=lines,
            evidence={"rows_per_pass": rows / calls, "passes": calls},
            fix=BATCH_THEM,
            before="answers = [net(row) for row in waiting]",
            after="answers = net(stack(waiting))      # torch.stack, np.stack",
        )
    ]


def _asking(analysis: Analysis) -> tuple[float, float]:
    """(seconds in those passes, seconds of the functions that make them and of nothing else)."""
    passes = samples_under(analysis, "inference")
    asking = {frame.code for sample in passes for frame in sample.own[:1]}
    asking = {each for each in asking if each[1] != "<module>"}
    asked = [s for s in samples_under(analysis) if s.line and s.line.code in asking]
    return seconds_of(passes), seconds_of(s for s in asked if s not in passes)


def _asking_lines(analysis: Analysis) -> list[SourceLine]:
    """The lines in a loop that lead to those passes, the nearest of each stack."""

    def asking(sample: Sample) -> Frame | None:
        own = sample.own
        looping = (frame for frame in own if called_at(analysis, frame).loop_line)
        return next(chain(looping, own), None)

    return use_by(samples_under(analysis, "inference"), asking).where(most=2)


RULES: tuple[Rule, ...] = (one_leaf_per_pass, one_row_inference)
