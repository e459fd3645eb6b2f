"""CPU time that other programs took from a run: measured from outside and subtracted.

On a shared machine, the program waits for cores that other programs use. This waiting varies, is
not the program's fault, and can be many times larger than the effect to be measured. Linux counts
how long each thread was ready to run but did not (`run_delay` in /proc/PID/schedstat). Not all of
it is caused by others: a program with more busy threads and workers than cores waits for itself. So
the waiting is divided by who used the CPU in the meantime.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotloop.analyze.model import Analysis


@dataclass(frozen=True)
class Contention:
    """A main thread's waiting for a core over time, with the part caused by other programs."""

    #: (seconds since 1970, seconds waited so far), in order.
    marks: list[tuple[float, float]] = field(default_factory=list)
    #: The part of the waiting that is due to other programs, from 0 to 1.
    due_to_others: float = 0.0

    def waited(self, begin: float, end: float) -> float:
        """Seconds between two moments (since 1970) in which others had the core."""
        if not self.marks or end <= begin:
            return 0.0
        waited = self._at(end) - self._at(begin)
        return min(max(waited * self.due_to_others, 0.0), end - begin)

    def _at(self, moment: float) -> float:
        times = [time for time, _ in self.marks]
        index = bisect_left(times, moment)
        if index == 0:
            return self.marks[0][1]
        if index == len(times):
            return self.marks[-1][1]
        (before, low), (after, high) = self.marks[index - 1], self.marks[index]
        return low + (high - low) * (moment - before) / (after - before)


def contention(
    marks: list[tuple[float, float]], main_s: float, tree_s: float, machine_s: float, usable: float
) -> Contention:
    """The waiting that a watch of a process observed, with the part caused by other programs."""
    if not marks:
        return Contention()
    return Contention(marks, share_due_to_others(main_s, tree_s, machine_s, usable))


def share_due_to_others(main_s: float, tree_s: float, machine_s: float, usable: float) -> float:
    """The part of a main thread's waiting that other programs caused.

    `main_s` is the main thread's CPU time, `tree_s` that of its process with all threads and
    children, `machine_s` that of everything on the machine, `usable` the share of the machine's
    cores that the run may use: in a container the rest of the machine is busy elsewhere.
    """
    others = max(machine_s - tree_s, 0.0) * min(max(usable, 0.0), 1.0)
    own = max(tree_s - main_s, 0.0)
    return others / (others + own) if others > 0 else 0.0


def cores_used(analysis: Analysis) -> float | None:
    """CPU cores that the run's own processes kept busy on average; None if that is not known."""
    if analysis.run.cpu_share is None or analysis.run.loop_s <= 0:
        return None
    # A process that lasted longer than the loop, such as a launcher, spread its time over that.
    loop_s = analysis.run.loop_s
    workers = sum(p.cpu_s / max(loop_s, p.wall_s) for p in analysis.processes if p.name != "main")
    return analysis.run.cpu_share + workers
