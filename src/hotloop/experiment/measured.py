"""From a run's outcome to its figures: reads the capture that it left."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hotloop.analyze.analysis import analyze
from hotloop.analyze.comparing.compare import Figures, figures
from hotloop.analyze.comparing.experiments import FailedRun
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.series import UNITS, RunSeries, common_unit
from hotloop.analyze.processes.contention import Contention
from hotloop.analyze.processes.training import read_capture
from hotloop.errors import HotloopError
from hotloop.experiment.launch import Launch, Outcome, last_lines


@dataclass(frozen=True)
class Measured:
    """One run that ended well: what its capture says."""

    name: str
    capture: str
    analysis: Analysis
    series: RunSeries
    contention: Contention

    def figures(self, unit: str, last: float, of_run: bool = False) -> Figures:
        return figures(self.series, unit, last, self.analysis, self.contention, of_run)


class RunFailedError(HotloopError):
    """A run that could not start, failed, or never reached a step."""

    def __init__(self, outcome: Outcome, command: str) -> None:
        self.run = FailedRun(outcome.name, command, outcome.failure, outcome.last_lines)
        super().__init__(str(self.run))


def measured(outcome: Outcome, launch: Launch) -> Measured:
    """The figures of a run's capture, or `RunFailedError` if there is nothing to compare."""
    if outcome.failure:
        raise RunFailedError(outcome, str(launch.command))
    try:
        analysis = analyze(read_capture(outcome.capture))
    except HotloopError as error:
        raise RunFailedError(
            _with(outcome, launch, f"left no capture ({error})"), str(launch.command)
        ) from None
    series = RunSeries(analysis)
    if not any(series.reached(unit) for unit in UNITS):
        why = "never reached a step (no env steps, iterations or gradient steps were counted)"
        raise RunFailedError(_with(outcome, launch, why), str(launch.command))
    return Measured(outcome.name, outcome.capture, analysis, series, outcome.contention)


def _with(outcome: Outcome, launch: Launch, failure: str) -> Outcome:
    return replace(outcome, failure=failure, last_lines=last_lines(launch.log))


def pair_figures(
    first: Measured, second: Measured, of_run: bool = False
) -> tuple[str, Figures, Figures]:
    """Both runs over the steps that both made, and the unit of these steps."""
    unit = common_unit([first.series, second.series])
    if unit is None:
        raise HotloopError(
            f"{first.name} and {second.name} count different things; "
            "both must count env steps, iterations or gradient steps"
        )
    last = min(first.series.reached(unit), second.series.reached(unit))
    return unit, first.figures(unit, last, of_run), second.figures(unit, last, of_run)
