"""The loop of a comparison: interleaved pairs of runs until the result is clear."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hotloop import units
from hotloop.analyze.comparing.compare import Comparison, Figures
from hotloop.analyze.comparing.experiments import PairedResult
from hotloop.analyze.comparing.sequential import Rule
from hotloop.analyze.comparing.statistics import science
from hotloop.analyze.comparing.unpaired import differences
from hotloop.capture import schema
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command
from hotloop.experiment.here import Job, Place
from hotloop.experiment.launch import Launch, Outcome, interruptible
from hotloop.experiment.measured import Measured, RunFailedError, measured, pair_figures
from hotloop.experiment.order import pair_orders
from hotloop.experiment.progress import time_left


@dataclass(frozen=True)
class Design:
    """How a comparison is made."""

    rule: Rule = field(default_factory=Rule)
    #: Runs of each command that are made first and not counted.
    warm_up: int = 1
    stop_after: str | None = None
    timeout_s: float | None = None
    seed: int = 0
    #: Compare whole runs, start-up included, instead of loops.
    of_run: bool = False


class PairedRuns:
    """Two commands that run alternately."""

    def __init__(
        self,
        commands: tuple[Command, Command],
        names: tuple[str, str],
        design: Design,
        folder: Path,
        place: Place,
        say: Callable[[str], None],
    ) -> None:
        science()  # fail now, not after an hour of runs
        self.commands = commands
        self.names = names
        self.design = design
        self.folder = folder
        self.place = place
        self.say = say
        self.pairs: list[tuple[Figures, Figures]] = []
        self.retried: list[str] = []
        #: Called for each pair; raises if the pair is invalid.
        self.check: Callable[[Measured, Measured], None] | None = None
        #: Why the pairs ended early, if a run failed.
        self.error: RunFailedError | None = None
        self._unit: str | None = None
        self._notes: list[str] = []
        #: Seconds that the pairs took.
        self._spent_s = 0.0

    def go(self) -> PairedResult:
        """Make pairs until the verdict is clear, there are enough, one fails, or Ctrl-C."""
        failure: list[RunFailedError] = []

        def work() -> None:
            try:
                self._warm_up()
                self._make_pairs()
            except RunFailedError as error:
                failure.append(error)

        interrupted = interruptible(work)
        self.error = failure[0] if failure else None
        return PairedResult(
            self.verdict(),
            (str(self.commands[0]), str(self.commands[1])),
            str(self.folder),
            ([a.seconds for a, _ in self.pairs], [b.seconds for _, b in self.pairs]),
            interrupted,
            self.error.run if self.error else None,
            self.retried,
        )

    def verdict(self) -> Comparison:
        """The verdict on the pairs so far."""
        rule = self.design.rule
        comparison = rule.verdict(self.pairs, self._unit or schema.ENV_STEPS, self.names)
        comparison.notes += self._notes
        return comparison

    # -- making them --

    def _warm_up(self) -> None:
        jobs = [
            Job(-1 - number, self._launches(f"warm-up-{number + 1}", False))
            for number in range(self.design.warm_up)
        ]
        for job, outcomes in self.place.outcomes(jobs):
            self._both(job, outcomes)  # reports a broken command at once
            seconds = sum(outcome.seconds for outcome in outcomes)
            self.say(f"warm-up done, {seconds:.1f} s for both; it does not count")

    def _make_pairs(self) -> None:
        schedule = self.design.rule.schedule
        orders = pair_orders(schedule, self.design.seed)
        for upto in schedule:
            jobs = [
                Job(number, self._launches(f"pair-{number + 1:02d}", orders[number]))
                for number in range(len(self.pairs), upto)
            ]
            self._do(jobs, schedule[-1])
            if self.design.rule.enough(self.verdict()):
                return

    def _do(self, jobs: list[Job], most: int) -> None:
        for job, outcomes in self.place.outcomes(jobs):
            first, second = self._both(job, outcomes)
            if not self.pairs:
                # Reported, not refused: the change may be what the user wants to compare.
                self._notes = [str(each) for each in differences(first.analysis, second.analysis)]
            self._unit, a, b = pair_figures(first, second, self.design.of_run)
            if not all(math.isfinite(f.seconds) and f.seconds > 0 for f in (a, b)):
                raise HotloopError(f"{self.names[0]} and {self.names[1]}: no time was measured")
            self.pairs.append((a, b))
            self._spent_s += sum(outcome.seconds for outcome in outcomes)
            self.say(self._progress(a, b, most))

    def _both(self, job: Job, outcomes: list[Outcome]) -> tuple[Measured, Measured]:
        by_capture = {launch.capture: launch for launch in job.launches}
        sides: dict[str, Measured] = {}
        for outcome in outcomes:
            if outcome.retried:
                self.retried.append(f"{outcome.name} of {Path(outcome.capture).parent.name}")
            launch = by_capture[outcome.capture]
            sides[Path(outcome.capture).name] = measured(outcome, launch)
        if self.check is not None:
            self.check(sides["a"], sides["b"])
        return sides["a"], sides["b"]

    def _launches(self, folder: str, second_first: bool) -> tuple[Launch, ...]:
        launches = [
            Launch(
                name,
                command,
                str(self.folder / folder / side),
                self.design.stop_after,
                self.design.timeout_s,
            )
            # Names of the same length: how long a program's arguments are moves its memory, and
            # that alone can change its speed (Mytkowicz et al. 2009).
            for side, name, command in zip("ab", self.names, self.commands, strict=True)
        ]
        return tuple(reversed(launches)) if second_first else tuple(launches)

    def _progress(self, a: Figures, b: Figures, most: int) -> str:
        upto = f"of {most}" if len(self.design.rule.schedule) == 1 else f"of at most {most}"
        busy = max(a.waited, b.waited)
        note = f"  (waited for a CPU core {busy:.0%} of the time)" if busy >= 0.1 else ""
        return (
            f"pair {len(self.pairs)} {upto}: {self.names[0]} {units.seconds(a.seconds)}, "
            f"{self.names[1]} {units.seconds(b.seconds)} per step{note}"
            f"{time_left(self._spent_s, len(self.pairs), most)}"
        )
