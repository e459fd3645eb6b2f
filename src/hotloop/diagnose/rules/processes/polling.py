"""Loops that check a shared value until another process has changed it.

The source shows which loops poll (`hooks/program/polling.py`); samples show how long they spin or
sleep, and what that costs the processes that have work to do.
"""

from __future__ import annotations

from hotloop.analyze.model import Analysis, Sample, seconds_of
from hotloop.analyze.processes.run_table import BETWEEN, WAITS
from hotloop.diagnose.evidence import (
    cores,
    finding,
    inner_lines,
    of_loop,
    seconds_in,
)
from hotloop.diagnose.finding import LOW, Finding, Rule
from hotloop.diagnose.recorded import at

#: Below this share of the loop, polling is not worth a change.
POLLING_SHARE = 0.10
#: How much of what spinning takes from others blocking gives back. An estimate.
POLLING_WINS = (0.3, 1.0)


def polling(analysis: Analysis) -> list[Finding]:
    """Processes that spin while others have no core, or sleep although the answer is ready."""
    polls = [sample for sample in analysis.samples if _polls(analysis, sample)]
    if not polls or not analysis.run_table:
        return []
    spinning = [sample for sample in polls if not (sample.waiting or sample.without_core)]
    spun = seconds_of(spinning)
    if spun >= POLLING_SHARE * analysis.run.loop_s:
        return _spinning(analysis, spinning, spun)
    return _oversleeping(analysis, [sample for sample in polls if sample.process == "main"])


def _polls(analysis: Analysis, sample: Sample) -> bool:
    """Whether a sample is in a loop of the program that only looks."""
    if sample.phase != "wait":
        return False
    line = sample.line
    places = analysis.notes_of(sample.process).polls.get(line.file, ()) if line else ()
    return line is not None and any(first <= line.line <= last for first, last in places)


def _spinning(analysis: Analysis, samples: list[Sample], spun: float) -> list[Finding]:
    """Spinning takes cores from the processes that are waited for."""
    loop_s = analysis.run.loop_s
    waiting = of_loop(analysis, seconds_in(analysis, "wait"))
    names = sorted(analysis.process_bounds)
    short = [_without_core(analysis, name) / loop_s for name in names]
    awaited = waiting * sum(short) / len(short) if short else 0.0
    # While no process works, one that has work may be waiting for the core of one that spins.
    awaited = max(awaited, _nobody_works(analysis) if _crowded(analysis) else 0.0)
    lost = _without_core(analysis, "main") / loop_s + awaited
    lost = min(lost, spun / loop_s)  # other programs take cores as well
    if lost < POLLING_SHARE:
        return []
    lines = inner_lines(samples)
    return [
        finding(
            analysis,
            "polling",
            title=f"Processes busy-wait for a value to change{at(lines)}: that keeps "
            f"{spun / loop_s:.1f} of {cores(analysis)} cores busy, and processes with "
            f"work to do wait for a core {lost:.0%} of the loop",
            phase="wait",
            seconds=lost * loop_s,
            saves=POLLING_WINS,
            confidence=LOW,
            where=lines,
            evidence={"spinning_s": spun, "cores": cores(analysis), "without_a_core_share": lost},
            fix="Block instead of spinning: `multiprocessing.Semaphore`, `Event`, `Condition` or a "
            "pipe wake the process when there is something to do. With a core for every process, "
            "spinning is faster.",
            before="while flag.value == 0:\n    pass",
            after="ready.acquire()                     # a multiprocessing.Semaphore",
        )
    ]


def _nobody_works(analysis: Analysis) -> float:
    rows = [row for row in analysis.run_table if row.kind == BETWEEN]
    return of_loop(analysis, sum(row.seconds for row in rows))


def _crowded(analysis: Analysis) -> bool:
    """Whether more processes want to run than there are cores."""
    bounds = [b for b in [*analysis.process_bounds.values(), analysis.bound] if b is not None]
    wanting = sum(bound.python + bound.native + bound.cores for bound in bounds)
    return wanting > (cores(analysis) or 1)


def _without_core(analysis: Analysis, process: str) -> float:
    return sum(
        sample.seconds
        for sample in analysis.samples
        if sample.process == process and sample.without_core and sample.phase not in WAITS
    )


def _oversleeping(analysis: Analysis, samples: list[Sample]) -> list[Finding]:
    """The loop sleeps between two looks, also when there is something to do."""
    slept = sum(sample.seconds for sample in samples if sample.waiting)
    idle = _nobody_works(analysis) * analysis.run.steady_s
    seconds = min(slept, idle)
    if of_loop(analysis, seconds) < POLLING_SHARE:
        return []
    lines = inner_lines(samples)
    return [
        finding(
            analysis,
            "polling",
            title=f"The loop polls a value and sleeps in between{at(lines)}: nobody works "
            f"during {of_loop(analysis, seconds):.0%} of the loop",
            phase="wait",
            seconds=seconds,
            saves=POLLING_WINS,
            confidence=LOW,
            where=lines,
            evidence={"sleeping_s": slept, "nobody_works_s": idle},
            fix="A sleep ends later than the event it waits for. Let the other process wake "
            "this one: `multiprocessing.Semaphore`, `Event`, `Condition` or a pipe.",
            before="while flag.value == 0:\n    time.sleep(0.001)",
            after="ready.acquire()                     # a multiprocessing.Semaphore",
        )
    ]


RULES: tuple[Rule, ...] = (polling,)
