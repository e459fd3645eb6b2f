"""A finding: one cause of slow training, with its evidence, its place and its fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hotloop.analyze.model import Analysis


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


#: A rule looks at an analysis and says what it found, if anything.
Rule = Callable[[Analysis], list[Finding]]
