"""What a counter and a gauge are, and all that are declared; `capture.schema` declares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hotloop.capture.merge_rules import LAST, SUM, MergeRule


@dataclass(frozen=True)
class Counter:
    name: str
    unit: str
    meaning: str
    rule: MergeRule = SUM


@dataclass(frozen=True)
class Gauge:
    name: str
    unit: str
    meaning: str
    rule: MergeRule


COUNTERS: Final[dict[str, Counter]] = {}
GAUGES: Final[dict[str, Gauge]] = {}


def declare_counter(name: str, unit: str, meaning: str) -> str:
    """Declare a counter and return its name."""
    COUNTERS[name] = Counter(name, unit, meaning)
    return name


def declare_gauge(name: str, unit: str, meaning: str, rule: MergeRule = LAST) -> str:
    """Declare a gauge and return its name."""
    GAUGES[name] = Gauge(name, unit, meaning, rule)
    return name


def merge_gauge(name: str, earlier: float, later: float) -> float:
    """The value of a gauge over two consecutive windows."""
    gauge = GAUGES.get(name)
    return later if gauge is None else gauge.rule.merge(earlier, later)
