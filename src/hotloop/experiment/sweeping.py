"""The loop of a sweep: each round runs every setting once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hotloop.analyze.comparing.defaults import EXPECTATIONS, ROUNDS
from hotloop.analyze.comparing.experiments import Sweep, folder_name
from hotloop.analyze.comparing.scaling import (
    Trial,
    add_efficiency,
    expectation,
    growth_of,
    is_numeric,
    knee,
    points_of,
)
from hotloop.analyze.comparing.statistics import science
from hotloop.analyze.over_time.series import common_unit
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command, parse_command, shown
from hotloop.experiment.here import Job, Place
from hotloop.experiment.launch import Launch, Outcome, interruptible
from hotloop.experiment.measured import Measured, RunFailedError, measured
from hotloop.experiment.order import round_orders
from hotloop.experiment.progress import time_left

#: A grid with more settings than this is a mistake, or a job for a weekend.
MOST_SETTINGS = 200


@dataclass(frozen=True)
class SettingToRun:
    """One combination of values, and the command that it makes."""

    values: tuple[str, ...]
    command: Command
    name: str


@dataclass(frozen=True)
class SweepDesign:
    """How a sweep is made."""

    variables: dict[str, list[str]]
    rounds: int = ROUNDS
    warm_up: int = 1
    stop_after: str | None = None
    timeout_s: float | None = None
    expect: str | None = None
    seed: int = 0


def parse_variables(given: Sequence[str]) -> dict[str, list[str]]:
    """`--vary envs=32,64` as a name and its values."""
    variables: dict[str, list[str]] = {}
    for text in given:
        name, sign, values = text.partition("=")
        name = name.strip()
        found = [value.strip() for value in values.split(",") if value.strip()]
        if not sign or not name.isidentifier() or not found:
            raise HotloopError(
                f"--vary {text}: needs a setting and its values, such as envs=32,64,128"
            )
        if name in variables:
            raise HotloopError(f"--vary {name}: given twice; write all its values in one")
        if len(set(found)) != len(found):
            raise HotloopError(f"--vary {text}: the same value twice")
        variables[name] = found
    if not variables:
        raise HotloopError("nothing to vary; write --vary envs=32,64,128 and {envs} in the command")
    return variables


def settings_of(words: Sequence[str], variables: dict[str, list[str]]) -> list[SettingToRun]:
    """Every combination of values with its command."""
    for name in variables:
        if not any(f"{{{name}}}" in word for word in words):
            raise HotloopError(
                f"--vary {name}: the command does not use it; write {{{name}}} where its value goes"
            )
    settings = []
    for values in itertools.product(*variables.values()):
        chosen = dict(zip(variables, values, strict=True))
        filled = [_fill(word, chosen) for word in words]
        label = " ".join(f"{name}={value}" for name, value in chosen.items())
        settings.append(SettingToRun(tuple(values), parse_command(filled), label))
    if len(settings) > MOST_SETTINGS:
        raise HotloopError(f"{len(settings)} settings are more than {MOST_SETTINGS}; vary less")
    return settings


def _fill(word: str, chosen: dict[str, str]) -> str:
    for name, value in chosen.items():
        word = word.replace(f"{{{name}}}", value)
    return word


class SweepRuns:
    """All settings, round after round."""

    def __init__(
        self,
        settings: list[SettingToRun],
        design: SweepDesign,
        folder: Path,
        place: Place,
        say: Callable[[str], None],
    ) -> None:
        science()  # fail now, not after an hour of runs
        if design.expect is not None:
            self._check_expectation(design)
        self.settings = settings
        self.design = design
        self.folder = folder
        self.place = place
        self.say = say
        self.failures: list[RunFailedError] = []
        self.retried: list[str] = []
        self._runs: list[tuple[SettingToRun, int, Measured]] = []
        #: Seconds that they took.
        self._spent_s = 0.0

    @staticmethod
    def _check_expectation(design: SweepDesign) -> None:
        if design.expect not in EXPECTATIONS:
            raise HotloopError(f"--expect {design.expect}: one of {', '.join(EXPECTATIONS)}")
        if not any(is_numeric(values) for values in design.variables.values()):
            raise HotloopError("--expect needs a variable with at least two numbers above zero")

    def go(self, command: str) -> Sweep:
        """Make the rounds; a setting that fails is left out of those that follow."""
        interrupted = interruptible(self._make_rounds)
        if not self._runs:
            if self.failures:
                raise self.failures[0]
            raise HotloopError("stopped before the first run ended")
        return self._result(command, interrupted)

    def _make_rounds(self) -> None:
        for number in range(self.design.warm_up):
            launch = self._launch(self.settings[0], f"warm-up-{number + 1}")
            for _, outcomes in self.place.outcomes([Job(-1 - number, (launch,))]):
                self.say(f"warm-up done, {outcomes[0].seconds:.1f} s; it does not count")
        orders = round_orders(len(self.settings), self.design.rounds, self.design.seed)
        rounds = [
            (number, [self._launch(self.settings[index], f"round-{number + 1}") for index in order])
            for number, order in enumerate(orders)
        ]
        if self.place.does_many:
            self._do([Job(number, tuple(launches), keep_going=True) for number, launches in rounds])
            return
        for number, launches in rounds:
            for launch in launches:
                if launch.name not in {failure.run.name for failure in self.failures}:
                    self._do([Job(number, (launch,))])

    def _do(self, jobs: list[Job]) -> None:
        by_name = {setting.name: setting for setting in self.settings}
        for job, outcomes in self.place.outcomes(jobs):
            for launch, outcome in zip(job.launches, outcomes, strict=False):
                self._take(by_name[launch.name], job.number, outcome, launch)

    def _take(self, setting: SettingToRun, number: int, outcome: Outcome, launch: Launch) -> None:
        if outcome.retried:
            self.retried.append(f"{outcome.name} of round {number + 1}")
        try:
            run = measured(outcome, launch)
        except RunFailedError as error:
            self.failures.append(error)
            self.say(f"{setting.name} {error.run.why}; it is left out")
            return
        self._runs.append((setting, number, run))
        self._spent_s += outcome.seconds
        left = time_left(self._spent_s, len(self._runs), len(self.settings) * self.design.rounds)
        done = f"round {number + 1} of {self.design.rounds}"
        self.say(f"{done}: {setting.name} done in {outcome.seconds:.1f} s{left}")

    def _launch(self, setting: SettingToRun, folder: str) -> Launch:
        return Launch(
            setting.name,
            setting.command,
            str(self.folder / folder / folder_name(setting.name)),
            self.design.stop_after,
            self.design.timeout_s,
        )

    def _result(self, command: str, interrupted: bool) -> Sweep:
        unit = common_unit([run.series for _, _, run in self._runs])
        if unit is None:
            raise HotloopError("the settings count different things: no steps to compare them by")
        trials = [_trial(setting, number, run, unit) for setting, number, run in self._runs]
        trials.sort(key=lambda t: [s.values for s in self.settings].index(t.values))
        points = points_of(trials)
        cut = self.design.stop_after is not None
        sweep = Sweep(
            shown(command),
            self.design.variables,
            unit,
            self.design.stop_after,
            points,
            growths=[],
            knees={},
            expected=[],
            folder=str(self.folder),
            rounds=self.design.rounds,
            failures=[failure.run for failure in self.failures],
            retried=self.retried,
            interrupted=interrupted,
        )
        for index, (name, values) in enumerate(self.design.variables.items()):
            measured_values = {trial.values[index] for trial in trials}
            if is_numeric(values) and len(measured_values) > 1:
                self._add_growth(sweep, trials, name, index, cut)
        return sweep

    def _add_growth(
        self, sweep: Sweep, trials: list[Trial], name: str, index: int, cut: bool
    ) -> None:
        sweep.growths.append(growth_of(trials, name, index))
        if len(self.design.variables) == 1:
            add_efficiency(sweep.points, index)
            value = knee(sweep.points, index, grows=not cut)
            if value is not None:
                sweep.knees[name] = value
        if self.design.expect is not None:
            sweep.expected.append(expectation(trials, self.design.expect, name, index, cut))


def _trial(setting: SettingToRun, number: int, run: Measured, unit: str) -> Trial:
    steps = run.series.reached(unit)
    figures = run.figures(unit, steps)
    loop_s = run.analysis.run.loop_s * (1.0 - figures.waited)
    return Trial(setting.values, number, figures, loop_s, steps)
