"""Results of experiments: plain data, to be rendered now or from the stored file later."""

from __future__ import annotations

from dataclasses import dataclass, field

from hotloop.analyze.comparing.compare import Comparison
from hotloop.analyze.comparing.hypothesis import UNKNOWN, ClaimVerdict, Expected, goal_met
from hotloop.analyze.comparing.scaling import Expectation, PowerLaw, Setting
from hotloop.capture import schema


@dataclass(frozen=True)
class FailedRun:
    """A run that could not start, failed, or never reached a step."""

    name: str
    command: str
    why: str
    last_lines: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        what = "" if self.name == self.command else f" ({self.command})"
        lines = [f"{self.name}{what} {self.why}"]
        if not self.last_lines:
            return "\n".join([*lines, "it printed nothing"])
        return "\n".join([*lines, "its last lines were:", *(f"  {e}" for e in self.last_lines)])


@dataclass
class PairedResult:
    """A comparison with failures and interruptions around it."""

    comparison: Comparison
    #: As they may be shown: secrets masked.
    commands: tuple[str, str]
    folder: str
    #: Each run's seconds per unit, in the order of the pairs.
    samples: tuple[list[float], list[float]]
    interrupted: bool = False
    failure: FailedRun | None = None
    #: Runs that failed and were repeated.
    retried: list[str] = field(default_factory=list)


@dataclass
class Sweep:
    """The settings of a sweep, measured."""

    command: str
    variables: dict[str, list[str]]
    unit: str
    stop_after: str | None
    points: list[Setting]
    growths: list[PowerLaw]
    #: Variable -> the value after which more brings little.
    knees: dict[str, str]
    expected: list[Expectation]
    folder: str
    rounds: int
    failures: list[FailedRun] = field(default_factory=list)
    retried: list[str] = field(default_factory=list)
    interrupted: bool = False


def folder_name(setting: str) -> str:
    """A setting's name as a folder's."""
    return "".join(c if c.isalnum() or c in "=.-_" else "-" for c in setting)


@dataclass(frozen=True)
class Claim:
    """A hypothesis as it is shown."""

    name: str
    claim: str
    change: str
    expected: Expected
    #: As it was written.
    expected_text: str
    confidence: str
    #: Whether the change is an experiment only: it changes the training.
    is_experiment: bool = False
    #: Whether it delays a phase, so that a slope is measured instead of a gain.
    is_delay: bool = False


@dataclass
class Tried:
    """A hypothesis and its result."""

    hypothesis: Claim
    finding: ClaimVerdict
    comparison: Comparison | None = None
    #: Slopes of the rounds of a `slow` experiment.
    slopes: list[float] = field(default_factory=list)


@dataclass
class Investigation:
    """The result of a plan."""

    baseline: str
    folder: str
    stop_after: str | None = None
    minimum_goal: float | None = None
    stretch_goal: float | None = None
    tried: list[Tried] = field(default_factory=list)
    #: The baseline's time per unit, from its first run.
    unit: str = schema.ENV_STEPS
    baseline_s: float | None = None
    #: All confirmed changes together, compared with the baseline.
    combined: Comparison | None = None
    combined_of: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    failure: str | None = None

    @property
    def baseline_rate(self) -> float | None:
        """Units per second of the baseline."""
        return 1 / self.baseline_s if self.baseline_s else None

    @property
    def minimum(self) -> str | None:
        return self._goal(self.minimum_goal)

    @property
    def stretch(self) -> str | None:
        return self._goal(self.stretch_goal)

    def _goal(self, goal: float | None) -> str | None:
        if goal is None:
            return None
        if self.combined is None and (self.interrupted or self.failure is not None):
            return UNKNOWN
        return goal_met(goal, self.combined.whole if self.combined else None)


Result = PairedResult | Sweep | Investigation
