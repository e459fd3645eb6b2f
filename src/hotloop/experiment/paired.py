"""The loop of a comparison: pairs of runs, interleaved, until enough is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hotloop.analyze.compare import Comparison, Figures, compare_pairs
from hotloop.analyze.judgement import FASTER, MARGIN, SAME, SLOWER
from hotloop.analyze.statistics import ALPHA, look_levels, looks, science
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command
from hotloop.experiment.here import Job, Place
from hotloop.experiment.launch import Launch, Outcome, interruptible
from hotloop.experiment.measured import Measured, RunFailedError, measured, pair_figures

#: Pairs that are made at most when nobody says how many.
MOST_PAIRS = 20
#: The same for `--until`, which asks for more certainty.
MOST_PAIRS_UNTIL = 60
#: A clear verdict is worth a few more pairs to name the phase, but not more than this many in all.
PHASE_PAIRS = 10


@dataclass(frozen=True)
class Design:
    """How a comparison is made."""

    #: Exactly so many pairs; with `until`, at most.
    pairs: int | None = None
    #: Stop when half the interval is this narrow. 0.02 is 2%.
    until: float | None = None
    margin: float = MARGIN
    #: Runs of each command that are made first and not counted.
    warm_up: int = 1
    stop_after: str | None = None
    timeout_s: float | None = None
    #: Compare time per step even where the work per step differs.
    any_work: bool = False
    seed: int = 0

    @property
    def schedule(self) -> list[int]:
        """Numbers of pairs at which the data are looked at; the last is the most there will be."""
        if self.pairs is not None and self.until is None:
            return [self.pairs]
        most = self.pairs or (MOST_PAIRS if self.until is None else MOST_PAIRS_UNTIL)
        return looks(most)


@dataclass
class Result:
    """A comparison with what went on around it."""

    comparison: Comparison
    commands: tuple[Command, Command]
    folder: str
    #: Each run's seconds per unit, in the order of the pairs.
    samples: tuple[list[float], list[float]]
    interrupted: bool = False
    failure: RunFailedError | None = None
    #: Runs that failed and were made again.
    retried: list[str] = field(default_factory=list)


class PairedRuns:
    """Two commands, run in turn."""

    def __init__(
        self,
        commands: tuple[Command, Command],
        names: tuple[str, str],
        design: Design,
        folder: Path,
        place: Place,
        say: Callable[[str], None],
    ) -> None:
        science()  # known now, not after an hour of runs
        self.commands = commands
        self.names = names
        self.design = design
        self.folder = folder
        self.place = place
        self.say = say
        self.pairs: list[tuple[Figures, Figures]] = []
        self.retried: list[str] = []
        self._unit: str | None = None
        self._altered = False
        self._looked = 0
        self._spent = 0.0

    def go(self) -> Result:
        """Make pairs until the verdict is clear, there are enough, one fails, or Ctrl-C."""
        failure: list[RunFailedError] = []

        def work() -> None:
            try:
                self._warm_up()
                self._make_pairs()
            except RunFailedError as error:
                failure.append(error)

        interrupted = interruptible(work)
        comparison = self.look(self._level_now())
        return Result(
            comparison,
            self.commands,
            str(self.folder),
            ([a.seconds for a, _ in self.pairs], [b.seconds for _, b in self.pairs]),
            interrupted,
            failure[0] if failure else None,
            self.retried,
        )

    def look(self, level: float) -> Comparison:
        """The verdict on the pairs so far, if it may be wrong with that probability."""
        return compare_pairs(
            self.pairs,
            self._unit or "env_steps",
            self.names,
            level=level,
            margin=self.design.margin,
            any_work=self.design.any_work,
        )

    # -- making them --

    def _warm_up(self) -> None:
        jobs = [
            Job(-1 - number, self._launches(f"warm-up-{number + 1}", False))
            for number in range(self.design.warm_up)
        ]
        for job, outcomes in self.place.outcomes(jobs):
            self._both(job, outcomes)  # says at once what is wrong with a command
            seconds = sum(outcome.seconds for outcome in outcomes)
            self.say(f"warm-up done, {seconds:.1f} s for both; it does not count")

    def _make_pairs(self) -> None:
        from hotloop.experiment.order import pair_orders

        schedule = self.design.schedule
        orders = pair_orders(schedule, self.design.seed)
        levels = look_levels(schedule)
        for upto, level in zip(schedule, levels, strict=True):
            jobs = [
                Job(number, self._launches(f"pair-{number + 1:02d}", orders[number]))
                for number in range(len(self.pairs), upto)
            ]
            self._do(jobs, schedule[-1])
            self._looked, self._spent = upto, level
            if self._enough(self.look(level)):
                return

    def _do(self, jobs: list[Job], most: int) -> None:
        for job, outcomes in self.place.outcomes(jobs):
            first, second = self._both(job, outcomes)
            self._unit, a, b = pair_figures(first, second)
            if not all(math.isfinite(f.seconds) and f.seconds > 0 for f in (a, b)):
                raise HotloopError(f"{self.names[0]} and {self.names[1]}: no time was measured")
            self.pairs.append((a, b))
            self.say(self._progress(a, b, most))

    def _both(self, job: Job, outcomes: list[Outcome]) -> tuple[Measured, Measured]:
        by_capture = {launch.capture: launch for launch in job.launches}
        sides: dict[str, Measured] = {}
        for outcome in outcomes:
            if outcome.retried:
                self.retried.append(f"{outcome.name} of {Path(outcome.capture).parent.name}")
            launch = by_capture[outcome.capture]
            sides[Path(outcome.capture).name] = measured(outcome, launch)
        return sides["first"], sides["second"]

    def _launches(self, folder: str, second_first: bool) -> tuple[Launch, ...]:
        launches = [
            Launch(
                name,
                command,
                str(self.folder / folder / side),
                self.design.stop_after,
                self.design.timeout_s,
            )
            for side, name, command in zip(
                ("first", "second"), self.names, self.commands, strict=True
            )
        ]
        return tuple(reversed(launches)) if second_first else tuple(launches)

    # -- when to stop --

    def _enough(self, comparison: Comparison) -> bool:
        whole = comparison.whole
        if self.design.until is not None and whole.low and whole.high:
            width = math.expm1(math.log(whole.high / whole.low) / 2)
            if width <= self.design.until:
                return True
        elif self.design.until is None and whole.verdict == SAME:
            return True
        verdict = whole.verdict
        if any(change.matters for change in comparison.work) and not self.design.any_work:
            # More pairs do not make different work the same; a few make the figures good.
            return len(self.pairs) >= PHASE_PAIRS
        named = comparison.responsible is not None or len(self.pairs) >= PHASE_PAIRS
        return verdict in (FASTER, SLOWER) and named

    def _level_now(self) -> float:
        """What may be spent on a verdict now.

        At a look that is its level. When pairs were cut short between two looks (Ctrl-C, a failed
        run), it is what the spending function gives the time since the last look; with a fixed
        number of pairs nobody has looked yet, and it is all.
        """
        schedule = self.design.schedule
        if len(schedule) == 1:
            return ALPHA
        if len(self.pairs) == self._looked:
            return self._spent or ALPHA
        before = [at for at in schedule if at <= self._looked]
        unplanned = [*before, len(self.pairs), schedule[-1]]
        return look_levels(unplanned)[len(before)]

    def _progress(self, a: Figures, b: Figures, most: int) -> str:
        from hotloop.report.units import seconds

        upto = f"of {most}" if len(self.design.schedule) == 1 else f"of at most {most}"
        busy = max(a.waited, b.waited)
        note = f"  (others had the core {busy:.0%} of the time)" if busy >= 0.1 else ""
        return (
            f"pair {len(self.pairs)} {upto}: {self.names[0]} {seconds(a.seconds)}, "
            f"{self.names[1]} {seconds(b.seconds)} a step{note}"
        )
