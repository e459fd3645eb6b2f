"""Workers that wait for one of them, or for a lock that one of them holds."""

from __future__ import annotations

from collections.abc import Iterable

from hotloop.analyze.model import Analysis, RunRow, Sample, seconds_of
from hotloop.analyze.processes.process_groups import group_of
from hotloop.analyze.processes.run_table import SLOWEST, WAITS
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    cores,
    finding,
    in_package,
    inner_lines,
    of_loop,
    use_by,
)
from hotloop.diagnose.finding import MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import at

#: Below this share of the loop, waiting for the slowest is noise.
SLOWEST_SHARE = 0.05
#: The work of one worker alone must be this part of the others' waiting.
EXCESS = 0.6
#: How much of it goes away if it does not do that any more. An estimate.
UNEVEN_WINS = (0.4, 1.0)


def slow_worker(analysis: Analysis) -> list[Finding]:
    """One of several equal workers does something that the others do not."""
    ranks = {group_of(role) for role in analysis.notes.trains_beside}
    rows = [r for r in analysis.run_table if r.kind == SLOWEST and r.process not in ranks]
    found = (_of_group(analysis, row) for row in rows if row.share >= SLOWEST_SHARE)
    return [each for each in found if each is not None][:1]


def _of_group(analysis: Analysis, row: RunRow) -> Finding | None:
    busy: dict[str, dict[SourceLine, float]] = {}
    for sample in analysis.samples:
        line = sample.line
        if group_of(sample.process) != row.process or line is None or _rests(sample):
            continue
        function = SourceLine(line.file, 0, line.function)
        times = busy.setdefault(sample.process, {})
        times[function] = times.get(function, 0.0) + sample.seconds
    if len(busy) < 2:
        return None
    slowest = max(busy, key=lambda process: sum(busy[process].values()))
    rest = [times for process, times in busy.items() if process != slowest]
    excess = {
        function: seconds - sum(times.get(function, 0.0) for times in rest) / len(rest)
        for function, seconds in busy[slowest].items()
    }
    function = max(excess, key=lambda each: excess[each])
    if excess[function] < EXCESS * row.seconds:
        return None
    return _finding(analysis, slowest, function, excess[function], len(busy))


def _finding(
    analysis: Analysis, slowest: str, function: SourceLine, excess_s: float, count: int
) -> Finding:
    def its_line(sample: Sample) -> SourceLine | None:
        line = sample.line
        same = line is not None and line.code == (function.file, function.function)
        return line if same and not _rests(sample) else None

    lines = use_by((s for s in analysis.samples if s.process == slowest), its_line).where()
    name = function.function.rpartition(".")[2]
    return finding(
        analysis,
        "slow-worker",
        title=f"The loop waits for {slowest}, the slowest of {count} workers: it spends "
        f"{of_loop(analysis, excess_s):.0%} of the loop more than the others in "
        f"`{name}`{at(lines)}",
        phase="wait",
        seconds=excess_s,
        saves=UNEVEN_WINS,
        confidence=MEDIUM,
        where=lines,
        evidence={"slowest": slowest, "excess_s": excess_s},
        fix="The loop continues when the last worker has answered. Give no worker extra work "
        "(rendering, recording, logging): move that to its own process, and give all "
        "workers environments of equal cost.",
        before="if worker == 0:\n    frames.append(env.render())     # all others wait",
        after="frames = record(policy)              # an evaluation, now and then",
    )


def _rests(sample: Sample) -> bool:
    """Whether a process waits: for others, or for a core that other programs have."""
    return _waits(sample) or sample.without_core


def _waits(sample: Sample) -> bool:
    return sample.phase in WAITS


# -- locks --

#: Below this share of the loop, waiting for a lock is the price of sharing.
LOCK_SHARE = 0.10
#: How much of that waiting remains if the lock is held for the shared part only. An estimate.
LOCK_WINS = (0.3, 1.0)
_LOCKS = in_package("multiprocessing/synchronize", "threading")
_TAKES_LOCK = frozenset({"__enter__", "SemLock.__enter__", "acquire"})


def lock_contention(analysis: Analysis) -> list[Finding]:
    """Processes that train together wait for a lock that one of them holds."""
    processes = ["main", *analysis.notes.trains_beside]
    if len(processes) < 2:
        return []
    waiting = list(_for_locks(analysis, processes))
    seconds = seconds_of(waiting) / len(processes)
    # If more processes train than there are cores, another one runs while one waits.
    seconds = min(seconds, _idle_cores(analysis, processes) * analysis.run.loop_s)
    if of_loop(analysis, seconds) < LOCK_SHARE:
        return []
    lines = inner_lines(waiting)
    return [
        finding(
            analysis,
            "lock-contention",
            title=f"{len(processes)} training processes wait for a lock{at(lines)} "
            f"{of_loop(analysis, seconds):.0%} of the loop on average",
            phase="wait",
            seconds=seconds,
            saves=LOCK_WINS,
            confidence=MEDIUM,
            where=lines,
            evidence={"waiting_for_the_lock_s": seconds},
            fix="Hold the lock only while the shared weights change: compute the loss and the "
            "gradients before taking it. Hogwild's updates need no lock at all.",
            before="with lock:\n    loss.backward()\n    optimizer.step()",
            after="loss.backward()\nwith lock:\n    optimizer.step()",
        )
    ]


def _idle_cores(analysis: Analysis, processes: list[str]) -> float:
    """The part of the cores that these processes neither used nor waited for."""
    have = cores(analysis) or len(processes)
    bounds = [analysis.bound, *(analysis.process_bounds.get(name) for name in processes[1:])]
    busy = sum(b.python + b.native + b.cores for b in bounds if b is not None)
    return max(1 - busy / min(have, len(processes)), 0.0)


def _for_locks(analysis: Analysis, processes: list[str]) -> Iterable[Sample]:
    for sample in analysis.samples:
        if sample.process not in processes or not _waits(sample) or not sample.frames:
            continue
        inner, *outer = sample.frames
        if inner.of_program:
            notes = analysis.notes_of(sample.process)
            calls = notes.lines.get(inner.file, {}).get(str(inner.line))
            if calls and "acquire" in calls.short:
                yield sample
        elif outer and outer[0].of_program and _LOCKS(inner) and inner.function in _TAKES_LOCK:
            yield sample


RULES: tuple[Rule, ...] = (slow_worker, lock_contention)
