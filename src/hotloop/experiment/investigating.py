"""The loop of an investigation: each hypothesis as a short experiment, most likely first."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hotloop.analyze.comparing.compare import Comparison
from hotloop.analyze.comparing.defaults import MARGIN
from hotloop.analyze.comparing.experiments import Investigation, PairedResult, Tried
from hotloop.analyze.comparing.hypothesis import (
    CEILING,
    CONFIRMED,
    FAILED,
    ClaimVerdict,
    Expected,
    as_ceiling,
    is_settled,
    judge_gain,
    judge_slope,
    priority,
    slope,
)
from hotloop.analyze.comparing.sequential import Rule
from hotloop.analyze.comparing.statistics import looks, science
from hotloop.analyze.over_time.series import common_unit
from hotloop.capture import schema
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command, check_exists, parse_command
from hotloop.experiment.here import Job, Place
from hotloop.experiment.launch import Launch, interruptible
from hotloop.experiment.measured import Measured, RunFailedError, measured
from hotloop.experiment.order import round_orders
from hotloop.experiment.paired import Design, PairedRuns
from hotloop.experiment.patch import patched_copy
from hotloop.experiment.plan import BASELINE, Change, Hypothesis, Plan

#: Rounds of a `slow` experiment: one run without delay and one for each delay.
SLOW_ROUNDS = 6
#: Pairs of a hypothesis at most, when the plan does not say: an investigation has many of them.
MOST_PAIRS = 14

#: How well the gain of all confirmed changes is to be known: from one end to the other.
GOAL_WIDTH = 0.2


class Investigator:
    """Tries every hypothesis of a plan, then the confirmed ones together."""

    def __init__(self, plan: Plan, folder: Path, place: Place, say: Callable[[str], None]) -> None:
        science()  # fail now, not after an hour of runs
        check_exists(plan.baseline)
        self.plan = plan
        self.folder = folder
        self.place = place
        self.say = say
        self.result = Investigation(
            str(plan.baseline), str(folder), plan.stop_after, plan.minimum, plan.stretch
        )
        #: The hypotheses that were tried, with their results.
        self._tried: list[tuple[Hypothesis, Tried]] = []
        self._stopped = False

    def go(self) -> Investigation:
        """Everything, in order; Ctrl-C keeps what is done."""
        self.result.interrupted = interruptible(self._all)
        return self.result

    def _all(self) -> None:
        try:
            self._baseline()
        except RunFailedError as error:
            self.result.failure = str(error)
            return
        ordered = in_order(self.plan.hypotheses)
        for number, hypothesis in enumerate(ordered, 1):
            self.say(f"{number} of {len(ordered)}: {hypothesis.name} ({hypothesis.change})")
            try:
                tried = self._try(hypothesis)
            except RunFailedError as error:
                tried = Tried(hypothesis.as_claim(), ClaimVerdict(FAILED, _first_lines(error)))
            except HotloopError as error:
                tried = Tried(hypothesis.as_claim(), ClaimVerdict(FAILED, str(error)))
            self.result.tried.append(tried)
            self._tried.append((hypothesis, tried))
            if self._stopped:
                raise KeyboardInterrupt
            self.say(f"{hypothesis.name}: {tried.finding.verdict}")
        self._together()

    def _baseline(self) -> None:
        """One run before anything else: a broken baseline fails at once."""
        capture = str(self.folder / "baseline" / "first")
        launch = Launch(
            BASELINE, self.plan.baseline, capture, self.plan.stop_after, self.plan.timeout_s
        )
        for _, outcomes in self.place.outcomes([Job(-1, (launch,))]):
            run = measured(outcomes[0], launch)
            unit = common_unit([run.series])
            if unit is not None:
                self.result.unit = unit
                self.result.baseline_s = run.figures(unit, run.series.reached(unit)).seconds
            self.say(f"the baseline works; a run takes {outcomes[0].seconds:.1f} s")

    # -- one --

    def _try(self, hypothesis: Hypothesis) -> Tried:
        folder = folder_of(self.plan, hypothesis, self.folder)
        if hypothesis.change.slow is not None:
            return self._slow(hypothesis, folder)
        command = changed(self.plan, [hypothesis.change], folder)
        result = self._compare(hypothesis.name, command, folder, hypothesis.expected)
        whole = result.comparison.whole
        finding = judge_gain(hypothesis.expected, whole, MARGIN)
        if hypothesis.change.skip:
            finding = as_ceiling(finding)
        return Tried(hypothesis.as_claim(), finding, result.comparison)

    def _compare(
        self, name: str, command: Command, folder: Path, expected: Expected | None
    ) -> PairedResult:
        rule = ClaimRule(any_work=True, most=self.plan.pairs or MOST_PAIRS, expected=expected)
        design = Design(rule, self.plan.warm_up, self.plan.stop_after, self.plan.timeout_s)
        names = BASELINE, name
        runs = PairedRuns(
            (self.plan.baseline, command), names, design, folder, self.place, self.say
        )
        runs.check = check_skipped
        result = runs.go()
        if runs.error is not None:
            raise runs.error
        self._stopped = result.interrupted
        return result

    def _slow(self, hypothesis: Hypothesis, folder: Path) -> Tried:
        phase, amounts = hypothesis.change.slow or ("", ())
        slopes: list[float] = []
        orders = round_orders(len(amounts) + 1, SLOW_ROUNDS)
        for number, order in enumerate(orders):
            launches = [
                Launch(
                    BASELINE if index == 0 else f"{phase} slower by {amounts[index - 1]}",
                    # The first has a delay of zero, so both include the cost of altering.
                    replace(
                        self.plan.baseline,
                        options=("--slow", f"{phase}={amounts[index - 1] if index else '0ms'}"),
                    ),
                    str(folder / f"round-{number + 1}" / f"delay-{index}"),
                    self.plan.stop_after,
                    self.plan.timeout_s,
                )
                for index in range(len(amounts) + 1)
            ]
            job = Job(number, tuple(launches[index] for index in order))
            for done, outcomes in self.place.outcomes([job]):
                by_capture = {launch.capture: launch for launch in done.launches}
                runs = [measured(outcome, by_capture[outcome.capture]) for outcome in outcomes]
                runs.sort(key=lambda run: run.capture)
                slopes.append(_slope_of(runs, phase))
                self.say(f"round {number + 1} of {SLOW_ROUNDS}: slope {slopes[-1]:.2f}")
        found = judge_slope(hypothesis.expected, slopes)
        return Tried(hypothesis.as_claim(), found, slopes=slopes)

    # -- all --

    def _together(self) -> None:
        confirmed: list[tuple[Hypothesis, Tried]] = []
        for hypothesis, tried in self._tried:
            name, change = hypothesis.name, hypothesis.change
            helped = tried.finding.verdict in (CONFIRMED, CEILING)
            if not helped or hypothesis.expected.low <= 1.0:
                continue
            if change.is_experiment:
                self.result.left_out[name] = "it changes the training and is not a fix"
            elif change.command and any(other.change.command for other, _ in confirmed):
                self.result.left_out[name] = "it is another command, and there can be one"
            else:
                confirmed.append((hypothesis, tried))
        self.result.combined_of = [hypothesis.name for hypothesis, _ in confirmed]
        if len(confirmed) == 1:
            self.result.combined = confirmed[0][1].comparison
        if len(confirmed) < 2:
            return
        self.say(f"together: {', '.join(self.result.combined_of)}")
        folder = self.folder / "together"
        try:
            command = changed(self.plan, [each.change for each, _ in confirmed], folder)
            self.result.combined = self._compare("together", command, folder, None).comparison
        except HotloopError as error:
            self.result.failure = str(error)
        if self._stopped:
            raise KeyboardInterrupt


def changed(plan: Plan, changes: list[Change], folder: Path) -> Command:
    """The baseline with some changes made to it; patched copies go to the folder."""
    command = plan.baseline
    for change in changes:
        if change.command is not None:
            command = parse_command(change.command)
    for change in changes:
        command = command.with_arguments(change.arguments, change.without)
        command = replace(command, environment={**command.environment, **change.environment})
        skip = [word for phase in change.skip for word in ("--skip", phase)]
        fix = [word for each in change.fix for word in ("--fix", each)]
        command = replace(command, options=(*command.options, *fix, *skip))
    patches = [plan.folder / change.patch for change in changes if change.patch]
    if patches:
        program = Path(command.folder or ".").absolute()
        copy = patched_copy(program, patches, folder / "patched")
        command = replace(command, folder=str(copy.absolute()))
    return command


def folder_of(plan: Plan, hypothesis: Hypothesis, folder: Path) -> Path:
    """A hypothesis's own folder in that of the investigation."""
    return folder / f"{plan.hypotheses.index(hypothesis) + 1:02d}-{slug(hypothesis.name)}"


def settings_of(plan: Plan, folder: Path) -> dict[str, Command]:
    """The baseline and every change that is meant to stay, by name: what can reach a return."""
    settings = {BASELINE: plan.baseline}
    for hypothesis in plan.hypotheses:
        if not hypothesis.change.is_experiment:
            own = folder_of(plan, hypothesis, folder)
            settings[hypothesis.name] = changed(plan, [hypothesis.change], own)
    if len(settings) < 2:
        raise HotloopError("no hypothesis is left: skip and slow change what is learned")
    return settings


@dataclass(frozen=True)
class ClaimRule(Rule):
    """Run pairs until the claim is decided, or without a claim, until the ratio is known."""

    most: int = MOST_PAIRS
    expected: Expected | None = None

    @property
    def schedule(self) -> list[int]:
        return looks(self.most)

    def enough(self, comparison: Comparison) -> bool:
        if comparison.pairs >= self.most:
            return True
        if self.expected is not None:
            return is_settled(self.expected, comparison.whole, self.margin)
        low, high = comparison.whole.low, comparison.whole.high
        return low is not None and high is not None and high <= low * (1 + GOAL_WIDTH)


def check_skipped(first: Measured, second: Measured) -> None:
    """Fail if a phase was not skipped as planned: the figures would be meaningless."""
    altered = second.analysis.notes.altered
    for phase, skipped in (altered.skip if altered else {}).items():
        if not skipped.calls:
            raise HotloopError(
                f"{phase} was never skipped: no function is that phase in this program "
                "(`with` blocks and inferred phases have none)"
            )


def _slope_of(runs: list[Measured], phase: str) -> float:
    unit = common_unit([run.series for run in runs])
    if unit is None:
        raise HotloopError("the runs count different things: no steps to compare them by")
    last = min(run.series.reached(unit) for run in runs)
    figures = [run.figures(unit, last) for run in runs]
    delays = [figure.work.get(schema.ALTERED_DELAY_US, 0.0) / 1e6 for figure in figures]
    if max(delays) <= 0:
        raise HotloopError(f"{phase} was never slowed: this program has no such phase")
    return slope(delays, [figure.seconds for figure in figures])


def in_order(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Changes before experiments that only show what a phase matters; the likeliest first."""

    def rank(hypothesis: Hypothesis) -> tuple[bool, float]:
        slow = hypothesis.change.slow
        runs = len(slow[1]) + 1 if slow else 2
        return hypothesis.change.is_experiment, -priority(
            hypothesis.expected, hypothesis.confidence, runs, slow is not None
        )

    return sorted(hypotheses, key=rank)


def slug(name: str) -> str:
    """A name as a folder's."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.").lower() or "hypothesis"


def _first_lines(error: RunFailedError) -> str:
    last = error.run.last_lines[-1:] or ["it printed nothing"]
    return f"{error.run.why}: {last[0]}"
