"""The loop of an investigation: each hypothesis as a short experiment, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hotloop.analyze.compare import Comparison
from hotloop.analyze.hypothesis import (
    CONFIRMED,
    FAILED,
    UNKNOWN,
    Expected,
    Finding,
    goal_met,
    is_settled,
    judge_gain,
    judge_slope,
    priority,
    slope,
)
from hotloop.analyze.judgement import MARGIN
from hotloop.analyze.portion import common_unit
from hotloop.analyze.sequential import Rule
from hotloop.analyze.statistics import looks, science
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command, check_exists, parse_command
from hotloop.experiment.here import Job, Place
from hotloop.experiment.launch import Launch, interruptible
from hotloop.experiment.measured import Measured, RunFailedError, measured
from hotloop.experiment.order import round_orders
from hotloop.experiment.paired import Design, PairedRuns, Result
from hotloop.experiment.patch import patched_copy
from hotloop.experiment.plan import Change, Hypothesis, Plan
from hotloop.hooks.alter import DELAY_COUNTER

#: Rounds of a `slow` experiment: one run without delay and one for each delay.
SLOW_ROUNDS = 6
#: Pairs of a hypothesis at most, when the plan does not say: an investigation has many of them.
MOST_PAIRS = 14

#: How well the gain of all confirmed changes is to be known: from one end to the other.
GOAL_WIDTH = 0.2


@dataclass
class Tried:
    """A hypothesis and what became of it."""

    hypothesis: Hypothesis
    finding: Finding
    comparison: Comparison | None = None
    #: Slopes of the rounds of a `slow` experiment.
    slopes: list[float] = field(default_factory=list)


@dataclass
class Investigation:
    """What came out of a plan."""

    plan: Plan
    folder: str
    tried: list[Tried] = field(default_factory=list)
    #: The baseline's time per unit, from its first run.
    unit: str = "env_steps"
    baseline_s: float | None = None
    #: All confirmed changes at once, beside the baseline.
    combined: Comparison | None = None
    combined_of: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    failure: HotloopError | None = None

    @property
    def minimum(self) -> str | None:
        return self._goal(self.plan.minimum)

    @property
    def stretch(self) -> str | None:
        return self._goal(self.plan.stretch)

    def _goal(self, goal: float | None) -> str | None:
        if goal is None:
            return None
        if self.combined is None and (self.interrupted or self.failure is not None):
            return UNKNOWN
        return goal_met(goal, self.combined.whole if self.combined else None)


class Investigator:
    """Tries every hypothesis of a plan, then the confirmed ones together."""

    def __init__(self, plan: Plan, folder: Path, place: Place, say: Callable[[str], None]) -> None:
        science()  # known now, not after an hour of runs
        check_exists(plan.baseline)
        self.plan = plan
        self.folder = folder
        self.place = place
        self.say = say
        self.result = Investigation(plan, str(folder))
        self._stopped = False

    def go(self) -> Investigation:
        """Everything, in order; Ctrl-C keeps what is done."""
        self.result.interrupted = interruptible(self._all)
        return self.result

    def _all(self) -> None:
        try:
            self._baseline()
        except RunFailedError as error:
            self.result.failure = error
            return
        ordered = in_order(self.plan.hypotheses)
        for number, hypothesis in enumerate(ordered, 1):
            self.say(f"{number} of {len(ordered)}: {hypothesis.name} ({hypothesis.change})")
            try:
                tried = self._try(hypothesis)
            except RunFailedError as error:
                tried = Tried(hypothesis, Finding(FAILED, _first_lines(error)))
            except HotloopError as error:
                tried = Tried(hypothesis, Finding(FAILED, str(error)))
            self.result.tried.append(tried)
            if self._stopped:
                raise KeyboardInterrupt
            self.say(f"{hypothesis.name}: {tried.finding.verdict}")
        self._together()

    def _baseline(self) -> None:
        """One run before anything else: a baseline that does not work is known at once."""
        capture = str(self.folder / "baseline" / "first")
        launch = Launch(
            "baseline", self.plan.baseline, capture, self.plan.stop_after, self.plan.timeout_s
        )
        for _, outcomes in self.place.outcomes([Job(-1, (launch,))]):
            run = measured(outcomes[0], launch)
            unit = common_unit([run.course])
            if unit is not None:
                self.result.unit = unit
                self.result.baseline_s = run.figures(unit, run.course.reached(unit)).seconds
            self.say(f"the baseline works; a run takes {outcomes[0].seconds:.1f} s")

    # -- one --

    def _try(self, hypothesis: Hypothesis) -> Tried:
        number = self.plan.hypotheses.index(hypothesis) + 1
        folder = self.folder / f"{number:02d}-{slug(hypothesis.name)}"
        if hypothesis.change.slow is not None:
            return self._slow(hypothesis, folder)
        command = self._changed([hypothesis.change], folder)
        result = self._compare(hypothesis.name, command, folder, hypothesis.expected)
        whole = result.comparison.whole
        finding = judge_gain(hypothesis.expected, whole, MARGIN)
        return Tried(hypothesis, finding, result.comparison)

    def _compare(
        self, name: str, command: Command, folder: Path, expected: Expected | None
    ) -> Result:
        rule = ClaimRule(any_work=True, most=self.plan.pairs or MOST_PAIRS, expected=expected)
        design = Design(rule, self.plan.warm_up, self.plan.stop_after, self.plan.timeout_s)
        names = "baseline", name
        runs = PairedRuns(
            (self.plan.baseline, command), names, design, folder, self.place, self.say
        )
        runs.check = check_skipped
        result = runs.go()
        if result.failure is not None:
            raise result.failure
        self._stopped = result.interrupted
        return result

    def _changed(self, changes: list[Change], folder: Path) -> Command:
        """The baseline with some changes made to it."""
        command = self.plan.baseline
        for change in changes:
            if change.command is not None:
                command = parse_command(change.command)
        for change in changes:
            command = command.with_arguments(change.arguments, change.without)
            command = replace(command, environment={**command.environment, **change.environment})
            skip = [word for phase in change.skip for word in ("--skip", phase)]
            command = replace(command, options=(*command.options, *skip))
        patches = [self.plan.folder / change.patch for change in changes if change.patch]
        if patches:
            program = Path(command.folder or ".").absolute()
            copy = patched_copy(program, patches, folder / "patched")
            command = replace(command, folder=str(copy.absolute()))
        return command

    def _slow(self, hypothesis: Hypothesis, folder: Path) -> Tried:
        phase, amounts = hypothesis.change.slow or ("", ())
        slopes: list[float] = []
        orders = round_orders(len(amounts) + 1, SLOW_ROUNDS)
        for number, order in enumerate(orders):
            launches = [
                Launch(
                    "baseline" if index == 0 else f"{phase} slower by {amounts[index - 1]}",
                    # The first is altered too, by nothing: what altering costs is in both.
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
        return Tried(hypothesis, judge_slope(hypothesis.expected, slopes), slopes=slopes)

    # -- all --

    def _together(self) -> None:
        confirmed: list[Tried] = []
        for tried in self.result.tried:
            name, change = tried.hypothesis.name, tried.hypothesis.change
            if tried.finding.verdict != CONFIRMED or tried.hypothesis.expected.low <= 1.0:
                continue
            if change.is_experiment:
                self.result.left_out[name] = "it changes the training, and is no fix"
            elif change.command and any(t.hypothesis.change.command for t in confirmed):
                self.result.left_out[name] = "it is another command, and there can be one"
            else:
                confirmed.append(tried)
        self.result.combined_of = [tried.hypothesis.name for tried in confirmed]
        if len(confirmed) == 1:
            self.result.combined = confirmed[0].comparison
        if len(confirmed) < 2:
            return
        self.say(f"together: {', '.join(self.result.combined_of)}")
        folder = self.folder / "together"
        try:
            command = self._changed([tried.hypothesis.change for tried in confirmed], folder)
            self.result.combined = self._compare("together", command, folder, None).comparison
        except HotloopError as error:
            self.result.failure = error
        if self._stopped:
            raise KeyboardInterrupt


@dataclass(frozen=True)
class ClaimRule(Rule):
    """Pairs until it is clear what to say of a claim, or without one, until the ratio is known."""

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
    """A phase that was to be skipped and was not: the figures would mean nothing."""
    altered = second.analysis.notes.get("altered")
    skipped = altered.get("skip", {}) if isinstance(altered, dict) else {}
    for phase, facts in skipped.items():
        if not (isinstance(facts, dict) and facts.get("calls")):
            raise HotloopError(
                f"{phase} was never skipped: no function is that phase in this program (a `with` "
                "block and a stretch that is inferred have none)"
            )


def _slope_of(runs: list[Measured], phase: str) -> float:
    unit = common_unit([run.course for run in runs])
    if unit is None:
        raise HotloopError("the runs count different things: no steps to compare them by")
    last = min(run.course.reached(unit) for run in runs)
    figures = [run.figures(unit, last) for run in runs]
    delays = [figure.work.get(DELAY_COUNTER, 0.0) / 1e6 for figure in figures]
    if max(delays) <= 0:
        raise HotloopError(f"{phase} was never slowed: this program has no such phase")
    return slope(delays, [figure.seconds for figure in figures])


def in_order(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """The likeliest and cheapest first."""

    def rank(hypothesis: Hypothesis) -> float:
        slow = hypothesis.change.slow
        runs = len(slow[1]) + 1 if slow else 2
        return -priority(hypothesis.expected, hypothesis.confidence, runs, slow is not None)

    return sorted(hypotheses, key=rank)


def slug(name: str) -> str:
    """A name as a folder's."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.").lower() or "hypothesis"


def _first_lines(error: RunFailedError) -> str:
    last = error.outcome.last_lines[-1:] or ["it printed nothing"]
    return f"{error.outcome.failure}: {last[0]}"
