"""Values that notes and headers hold, as plain dataclasses with their decoders."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.capture import records
from hotloop.capture.records import Damage

#: Longest name of a function that a source line calls; anything longer is damage.
LONGEST_NAME = 200
#: Nanoseconds; no region costs more, and a damaged header must not turn every figure to zero.
MOST_REGION_COST_NS = 1e6


@dataclass(frozen=True)
class RegionCost:
    """Overhead of one empty region, in nanoseconds: counted inside it, and around it."""

    inner_ns: float = 0.0
    outer_ns: float = 0.0

    @property
    def total_ns(self) -> float:
        return self.inner_ns + self.outer_ns

    def encode(self) -> dict[str, float]:
        return {"inside_ns": self.inner_ns, "outside_ns": self.outer_ns}


#: For figures that keep their overhead.
NO_COST = RegionCost()


def region_cost(value: object, damage: Damage) -> RegionCost:
    if type(value) is not dict:
        raise records.BadValueError("not a cost")
    inner, outer = (
        min(max(records.number(value.get(key), damage), 0.0), MOST_REGION_COST_NS)
        for key in ("inside_ns", "outside_ns")
    )
    return RegionCost(inner, outer)


@dataclass(frozen=True)
class SourceLine:
    """A line of a program, and the function that it is in."""

    file: str
    line: int
    function: str

    @property
    def code(self) -> tuple[str, str]:
        """File and name of the function."""
        return self.file, self.function

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def source_line(value: object, damage: Damage) -> SourceLine:
    file, line, function = records.row(value, 3)
    return SourceLine(
        records.text(file, damage), records.whole(line, damage), records.text(function, damage)
    )


@dataclass(frozen=True)
class LineCalls:
    """The calls of a source line."""

    names: frozenset[str] = frozenset()
    #: First line of the loop around it; 0 outside any.
    loop_line: int = 0

    @property
    def short(self) -> set[str]:
        """The names without what they are attributes of."""
        return {name.rpartition(".")[2] for name in self.names}


def line_calls(value: object, damage: Damage) -> LineCalls:
    names, loop_line = records.row(value, 2)
    called = records.list_of(_name)(names, damage)
    return LineCalls(frozenset(called), records.whole(loop_line, damage))


def _name(value: object, damage: Damage) -> str:
    name = records.text(value, damage)
    if len(name) > LONGEST_NAME:
        raise records.BadValueError("too long for a name")
    return name


@dataclass(frozen=True)
class TransferLine:
    """Copies and waits that one source line causes."""

    file: str
    line: int
    function: str
    what: str
    transfers: int
    bytes: int
    syncs: int


def transfer_line(value: object, damage: Damage) -> TransferLine:
    file, line, function, what, *counts = records.row(value, 7)
    return TransferLine(
        records.text(file, damage),
        records.whole(line, damage),
        records.text(function, damage),
        records.text(what, damage),
        *(records.whole(each, damage) for each in counts),
    )
