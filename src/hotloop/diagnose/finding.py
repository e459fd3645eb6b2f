"""A finding: one cause of slow training, with its evidence, its place and its fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hotloop.analyze.model import Analysis

#: How bad it is, the worst first. `healthy` explains something that looks like a fault.
CRITICAL, WARNING, INFO, HEALTHY = SEVERITIES = ("critical", "warning", "info", "healthy")

HIGH, MEDIUM, LOW = "high", "medium", "low"


@dataclass(frozen=True)
class Place:
    """A line of the user's program."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Gain:
    """How many times faster the whole run is expected to get."""

    low: float
    high: float


@dataclass
class Finding:
    """One cause, one finding."""

    id: str
    severity: str
    title: str
    phase: str
    gain: Gain
    confidence: str
    fix: str
    verify: str
    where: list[Place] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    #: The change as code, in the terms of the library in use.
    before: str = ""
    after: str = ""
    #: What the change may do to the learning; empty if nothing.
    learning: str = ""


#: A rule looks at an analysis and says what it found, if anything.
Rule = Callable[[Analysis], list[Finding]]
