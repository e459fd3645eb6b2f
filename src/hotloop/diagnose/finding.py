"""A finding: one cause of slow training, with its evidence, its source lines and its fix."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from hotloop.analyze.model import Analysis
from hotloop.capture.proofs import TriedFix
from hotloop.capture.schema import SourceLine

#: How bad it is, worst first. `healthy` explains something that only looks like a problem.
CRITICAL, WARNING, INFO, HEALTHY = "critical", "warning", "info", "healthy"

HIGH, MEDIUM, LOW = "high", "medium", "low"


@dataclass(frozen=True)
class Gain:
    """An expected speedup, as a range."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The geometric middle, which determines severity and rank."""
        return sqrt(max(self.low, 1.0) * max(self.high, 1.0))

    def capped(self, ceiling: float) -> Gain:
        """The same range, limited by a ceiling."""
        return Gain(min(self.low, ceiling), min(self.high, ceiling))


@dataclass
class Finding:
    """One cause, one finding."""

    id: str
    severity: str
    title: str
    phase: str
    #: For the training loop: steps per second after the fix divided by steps per second now.
    gain: Gain
    confidence: str
    fix: str
    verify: str
    where: list[SourceLine] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    #: The change to the user's own lines as a unified diff; empty if it cannot be written.
    patch: str = ""
    #: An example of the change, in the terms of the library in use.
    before: str = ""
    after: str = ""
    #: How the change may affect learning; empty if it does not.
    learning: str = ""
    #: The gain if the fix removed all that it can: 1 / (1 - share). No predicted gain exceeds it.
    ceiling: float | None = None
    #: The gain of the whole run, start-up included; None if the run was not complete.
    run_gain: Gain | None = None
    #: The gain that `hotloop prove` measured; None until then.
    measured_gain: float | None = None
    #: The fix that it tried, with everything that was measured.
    proof: TriedFix | None = None

    def __post_init__(self) -> None:
        if self.ceiling is None:
            self.ceiling = self.gain.high
        self.gain = self.gain.capped(self.ceiling)

    @property
    def example(self) -> list[str]:
        """The example as a diff: lines that stay are its context."""
        before, after = self.before.splitlines(), self.after.splitlines()
        whole = len(before) + len(after)
        lines = list(difflib.unified_diff(before, after, lineterm="", n=whole))[3:]
        return [f"{line[:1]} {line[1:]}".rstrip() for line in lines]

    @property
    def worth(self) -> float:
        """The share of the time that is saved: measured, or the middle of the range."""
        if self.measured_gain is not None:
            return 1 - 1 / max(self.measured_gain, 1.0)
        gain = self.run_gain if self.run_gain and self.is_of_run else self.gain
        return 1 - 1 / gain.middle

    @property
    def is_problem(self) -> bool:
        """A cause to remove, rather than a note or the explanation of something healthy."""
        return self.severity not in (INFO, HEALTHY)

    @property
    def is_of_run(self) -> bool:
        """Whether the fix mainly saves time before the loop, not in it."""
        # A run without start-up has the same gain, but for the rounding.
        return self.run_gain is not None and self.run_gain.middle > 1.005 * self.gain.middle


#: A rule: from an analysis to findings, if any.
Rule = Callable[[Analysis], list[Finding]]
