"""The loop waits for another busy thread of the training process."""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.analyze.processes.awaited_threads import THREAD
from hotloop.analyze.sums import summed
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import finding, of_loop, seconds_in
from hotloop.diagnose.finding import MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import at

#: Below this share of the loop a thread is not what limits it.
THREAD_SHARE = 0.10
#: A thread that ran for less than this part of the waiting waited for something itself.
BUSY = 0.6
#: How much of its work goes away if it is done once, on arrays or in other processes. An estimate.
THREAD_WINS = (0.4, 0.97)


def slow_thread(analysis: Analysis) -> list[Finding]:
    """The loop waits for a thread that cannot keep up, such as one that prepares batches."""
    rows = [row for row in analysis.run_table if row.process == THREAD]
    ran = sum(function.self_s for function in analysis.thread_functions)
    seconds = min(sum(row.seconds for row in rows), ran)
    waited = seconds_in(analysis, "wait")
    lines = _lines(analysis)
    if of_loop(analysis, seconds) < THREAD_SHARE or seconds < BUSY * waited or not lines:
        return []
    return [
        finding(
            analysis,
            "slow-thread",
            title=f"The loop waits {of_loop(analysis, waited):.0%} of its time for another thread"
            f"{at(lines)}",
            phase="wait",
            seconds=seconds,
            saves=THREAD_WINS,
            confidence=MEDIUM,
            where=lines,
            evidence={"waiting_for_thread_s": waited, "thread_busy_s": seconds},
            fix="The thread cannot keep up, and more threads of Python code would share the "
            "same GIL. Do its work once, before the loop; or on whole arrays instead of "
            "row by row; or in processes (`DataLoader(num_workers=2)`).",
            before="def run(self):                      # in a thread\n"
            "    self.queue.put([parse(line) for line in random.choices(lines, k=256)])",
            after="rows = np.stack([parse(line) for line in lines])     # once\n"
            "batch = rows[rng.integers(len(rows), size=256)]",
        )
    ]


def _lines(analysis: Analysis) -> list[SourceLine]:
    """The program's lines on which the thread ran, or from which it called a library."""
    found = summed(
        (function.source_line, function.self_s)
        for function in analysis.thread_functions
        if function.of_program or function.from_file
    )
    return sorted(found, key=lambda line: -found[line])[:3]


RULES: tuple[Rule, ...] = (slow_thread,)
