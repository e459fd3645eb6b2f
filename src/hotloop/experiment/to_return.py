"""Runs two settings over several seeds until a return is reached: `compare --to-return`.

`{seed}` in a command is replaced by the number of the pair, so that both runs of a pair have the
same seed. A run ends when the mean return of its last 100 episodes reaches the target, at its own
end, or at the limit that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hotloop.analyze.returns import RunReturns
from hotloop.analyze.time_to_return import Attempt, TimeToReturn, judge
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command
from hotloop.experiment.here import Job, Place
from hotloop.experiment.launch import Launch, Outcome, interruptible
from hotloop.experiment.measured import Measured, measured

SEED = "{seed}"
#: `--to-return auto`: this part of the way from the first returns to the lower of the two bests.
AUTO_PART = 0.9


@dataclass(frozen=True)
class ReturnDesign:
    """How the comparison is made."""

    #: None is found by a first pair that does not count.
    target: float | None
    seeds: int
    stop_after: str | None = None
    timeout_s: float | None = None


class ReturnRuns:
    """Two commands, run seed by seed."""

    def __init__(
        self,
        commands: tuple[Command, Command],
        names: tuple[str, str],
        design: ReturnDesign,
        folder: Path,
        place: Place,
        say: Callable[[str], None],
    ) -> None:
        self.commands, self.names, self.design = commands, names, design
        self.folder, self.place, self.say = folder, place, say
        self._pairs: list[tuple[Measured, Measured]] = []

    def go(self) -> TimeToReturn:
        """Run every seed, or until Ctrl-C; the result is of the pairs that ended."""
        found: list[float] = []
        interrupted = interruptible(lambda: found.append(self._run_all()))
        if not found and self.design.target is None:
            raise HotloopError("interrupted before a return to reach was known")
        target = found[0] if found else self.design.target or 0.0
        result = TimeToReturn(
            self.names,
            (str(self.commands[0]), str(self.commands[1])),
            target,
            str(self.folder),
            self._attempts(target),
            notes=self._notes(),
            interrupted=interrupted,
        )
        result.equal_steps = self._equal_steps()
        judge(result)
        return result

    def _run_all(self) -> float:
        target = self.design.target
        if target is None:
            target = auto_target([side.analysis.returns for side in self._pair(0, None)])
            self.say(f"the return to reach is {target:.4g}, which both settings reached once")
        for seed in range(1, self.design.seeds + 1):
            self._pairs.append(self._pair(seed, target))
            self.say(self._progress(seed, target))
        return target

    def _pair(self, seed: int, target: float | None) -> tuple[Measured, Measured]:
        launches = [
            self._launch(side, name, command, seed, target)
            for side, name, command in zip("ab", self.names, self.commands, strict=True)
        ]
        # Alternate which side goes first: the machine may drift.
        job = Job(seed, tuple(reversed(launches)) if seed % 2 else tuple(launches))
        by_side: dict[str, Measured] = {}
        for _, outcomes in self.place.outcomes([job]):
            for outcome in outcomes:
                by_side[Path(outcome.capture).name] = self._measured(outcome, job)
        return by_side["a"], by_side["b"]

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

    def _attempts(self, target: float) -> tuple[list[Attempt], list[Attempt]]:
        steps = self._equal_steps()
        sides: tuple[list[Attempt], list[Attempt]] = ([], [])
        for number, pair in enumerate(self._pairs):
            for side, run in zip(sides, pair, strict=True):
                side.append(attempt_of(number + 1, run, target, steps))
        return sides

    def _equal_steps(self) -> float:
        return min((float(run.analysis.run.env_steps) for p in self._pairs for run in p), default=0)

    def _notes(self) -> list[str]:
        notes: list[str] = []
        if not any(SEED in command.typed() for command in self.commands):
            notes.append(
                f"The commands have no {SEED}: each run has the seed that the program chooses."
            )
        return notes

    def _progress(self, seed: int, target: float) -> str:
        said = []
        for name, run in zip(self.names, self._pairs[-1], strict=True):
            reached = run.analysis.returns.reached(target)
            took = f"in {reached.seconds:.3g} s" if reached else "not reached"
            said.append(f"{name} {took}")
        return f"seed {seed} of {self.design.seeds}: {', '.join(said)}"


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
    """A target that both settings reached in one run each."""
    if any(side.best is None or not side.points for side in sides):
        raise HotloopError("--to-return: fewer than 100 episodes ended in a run; let it run longer")
    best = min(side.best or 0.0 for side in sides)
    begin = min(side.points[0].mean for side in sides)
    return begin + AUTO_PART * (best - begin)
