"""Runs settings over several seeds until a return is reached: `--to-return`.

`{seed}` in a command is replaced by the number of the round, so that all runs of a round have the
same seed. A run ends when the mean return of its last 100 episodes reaches the target, when the
program ends, or at the given limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hotloop.analyze.comparing.soonest import Soonest, judge_all
from hotloop.analyze.comparing.time_to_return import Attempt, TimeToReturn, judge
from hotloop.analyze.over_time.returns import RunReturns
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command
from hotloop.experiment.here import Job, Place
from hotloop.experiment.launch import Launch, Outcome, interruptible
from hotloop.experiment.measured import Measured, measured

SEED = "{seed}"
#: `--to-return auto`: this part of the way from the first returns to the lowest of the bests.
AUTO_PART = 0.9


@dataclass(frozen=True)
class ReturnDesign:
    """How the comparison is made."""

    #: None is found by a first round that does not count.
    target: float | None
    seeds: int
    stop_after: str | None = None
    timeout_s: float | None = None


def parse_target(written: str) -> float | None:
    """`195`, or None for `auto`."""
    if written == "auto":
        return None
    try:
        target = float(written)
    except ValueError:
        target = math.nan
    if not math.isfinite(target):
        raise HotloopError(f"--to-return {written}: a return, such as 195, or auto")
    return target


class ReturnRuns:
    """Two commands or more, run seed by seed."""

    def __init__(
        self,
        commands: tuple[Command, ...],
        names: tuple[str, ...],
        design: ReturnDesign,
        folder: Path,
        place: Place,
        say: Callable[[str], None],
    ) -> None:
        self.commands, self.names, self.design = commands, names, design
        self.folder, self.place, self.say = folder, place, say
        self._rounds: list[tuple[Measured, ...]] = []
        #: The return to reach; None until the first round of `auto` has shown it.
        self._target = design.target

    def go(self) -> TimeToReturn:
        """Compare two commands: every seed, or until Ctrl-C; the result is of whole rounds."""
        target, interrupted = self._until_done()
        first, second = self._attempts(target)
        result = TimeToReturn(
            (self.names[0], self.names[1]),
            (str(self.commands[0]), str(self.commands[1])),
            target,
            str(self.folder),
            (first, second),
            notes=self._notes(),
            interrupted=interrupted,
        )
        result.equal_steps = self._equal_steps()
        judge(result)
        return result

    def soonest(self) -> Soonest:
        """The same for any number of commands: which reaches the target soonest."""
        target, interrupted = self._until_done()
        result = Soonest(
            self.names,
            tuple(map(str, self.commands)),
            target,
            str(self.folder),
            self._attempts(target),
            equal_steps=self._equal_steps(),
            notes=self._notes(),
            interrupted=interrupted,
        )
        judge_all(result)
        return result

    def _until_done(self) -> tuple[float, bool]:
        interrupted = interruptible(self._run_all)
        if self._target is None:
            raise HotloopError("interrupted before a return to reach was known")
        return self._target, interrupted

    def _run_all(self) -> None:
        target = self._target
        if target is None:
            target = self._target = auto_target(
                [side.analysis.returns for side in self._round(0, None)]
            )
            all_of_them = "both" if len(self.commands) == 2 else "all"
            self.say(
                f"the return to reach is {target:.4g}, which {all_of_them} settings reached once"
            )
        for seed in range(1, self.design.seeds + 1):
            self._rounds.append(self._round(seed, target))
            self.say(self._progress(seed, target))

    def _round(self, seed: int, target: float | None) -> tuple[Measured, ...]:
        launches = [
            self._launch(_side(number), name, command, seed, target)
            for number, (name, command) in enumerate(zip(self.names, self.commands, strict=True))
        ]
        # Another one goes first in every round: the machine may drift.
        first = seed % len(launches)
        job = Job(seed, tuple(reversed(launches[first:] + launches[:first])))
        by_side: dict[str, Measured] = {}
        for _, outcomes in self.place.outcomes([job]):
            for outcome in outcomes:
                by_side[Path(outcome.capture).name] = self._measured(outcome, job)
        return tuple(by_side[_side(number)] for number in range(len(launches)))

    def _measured(self, outcome: Outcome, job: Job) -> Measured:
        launch = next(each for each in job.launches if each.capture == outcome.capture)
        run = measured(outcome, launch)
        if run.analysis.returns.why_none:
            raise HotloopError(f"{run.name}: no return is known: {run.analysis.returns.why_none}")
        return run

    def _launch(
        self, side: str, name: str, command: Command, seed: int, target: float | None
    ) -> Launch:
        until = () if target is None else (f"--until-return={target!r}",)
        seeded = replace(
            command,
            words=tuple(word.replace(SEED, str(seed)) for word in command.words),
            environment={k: v.replace(SEED, str(seed)) for k, v in command.environment.items()},
            options=(*command.options, *until),
        )
        capture = self.folder / f"seed-{seed:02d}" / side
        return Launch(name, seeded, str(capture), self.design.stop_after, self.design.timeout_s)

    # -- what they come to --

    def _attempts(self, target: float) -> tuple[list[Attempt], ...]:
        steps = self._equal_steps()
        sides: tuple[list[Attempt], ...] = tuple([] for _ in self.commands)
        for number, runs in enumerate(self._rounds):
            for side, run in zip(sides, runs, strict=True):
                side.append(attempt_of(number + 1, run, target, steps))
        return sides

    def _equal_steps(self) -> float:
        return min(
            (float(run.analysis.run.env_steps) for r in self._rounds for run in r), default=0
        )

    def _notes(self) -> list[str]:
        notes: list[str] = []
        if not any(SEED in command.typed() for command in self.commands):
            notes.append(
                f"The commands have no {SEED}: each run has the seed that the program chooses."
            )
        return notes

    def _progress(self, seed: int, target: float) -> str:
        said = []
        for name, run in zip(self.names, self._rounds[-1], strict=True):
            reached = run.analysis.returns.reached(target)
            took = f"in {reached.seconds:.3g} s" if reached else "not reached"
            said.append(f"{name} {took}")
        return f"seed {seed} of {self.design.seeds}: {', '.join(said)}"


def _side(number: int) -> str:
    """The name of a setting's folder, of one length for all: a, b, … z, or 000, 001, …"""
    return chr(ord("a") + number) if number < 26 else f"{number:03d}"


def attempt_of(seed: int, run: Measured, target: float, equal_steps: float) -> Attempt:
    """One run, in figures: from the beginning of its training loop."""
    analysis = run.analysis
    returns = analysis.returns
    reached = returns.reached(target)
    whole_s = returns.moments[-1].seconds if returns.moments else analysis.run.loop_s
    return Attempt(
        seed,
        reached.seconds if reached else whole_s,
        reached.env_steps if reached else float(analysis.run.env_steps),
        reached is not None,
        analysis.run.steps_per_s,
        returns.last,
        returns.at_steps(equal_steps),
    )


def auto_target(sides: list[RunReturns]) -> float:
    """A target that all settings reached in one run each."""
    if any(side.best is None or not side.points for side in sides):
        raise HotloopError("--to-return: fewer than 100 episodes ended in a run; let it run longer")
    best = min(side.best or 0.0 for side in sides)
    begin = min(side.points[0].mean for side in sides)
    return begin + AUTO_PART * (best - begin)
