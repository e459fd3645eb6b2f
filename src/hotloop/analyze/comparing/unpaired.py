"""Compares two existing captures by their windows, and states what that cannot show.

The two runs were not interleaved, so whatever else changed between them (the machine's load, its
temperature, its memory) is in the difference too, and one run on each side says nothing about how
much two runs of the same program differ. hotloop adds an allowance for that and says so. Captures
from different devices or machines are not comparable at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hotloop.analyze.comparing.compare import (
    WARM_UP,
    Comparison,
    Figures,
    figures,
    judge_phases,
    settle,
    work_changes,
)
from hotloop.analyze.comparing.defaults import MARGIN
from hotloop.analyze.comparing.judgement import Evidence, judge, not_comparable
from hotloop.analyze.comparing.statistics import ALPHA, Independent, block_bootstrap, block_length
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.series import RunSeries, SeriesPoint, common_unit
from hotloop.analyze.processes.contention import Contention
from hotloop.capture import schema

#: How much two runs of the same program differ beyond what their windows show, as a standard
#: deviation: layout of memory, order of hashing, temperature. Kalibera & Jones (2013) and
#: Mytkowicz et al. (2009) find a few percent on machines that do nothing else.
RUN_TO_RUN = 0.02

_CLOCKS = {True: "native", False: "pure Python"}

#: Minimum number of windows after the warm-up to estimate noise.
FEWEST_WINDOWS = 5


@dataclass(frozen=True)
class Difference:
    """A difference between two captures other than the program."""

    what: str
    first: str
    second: str
    #: Whether it makes the two incomparable, or is only reported.
    refuses: bool

    def __str__(self) -> str:
        return f"different {self.what}: {self.first} and {self.second}"


def differences(first: Analysis, second: Analysis) -> list[Difference]:
    """Differences between two captures other than the program."""
    found: list[Difference] = []

    def note(what: str, values: Sequence[Any], refuses: bool = False) -> None:
        first_value, second_value = values
        if first_value != second_value and None not in values and "" not in values:
            found.append(Difference(what, str(first_value), str(second_value), refuses))

    one, other = first.run.header, second.run.header

    note("device", [first.run.device, second.run.device], refuses=True)
    note("machine", [one.host, other.host], refuses=True)
    note("number of cores", [one.cores, other.cores])
    # cProfile slows every call down; samples and nothing differ by less than a percent.
    functions = [one.functions, other.functions]
    note("sampler settings", functions, refuses="exact" in functions)
    note("sampling rate", [one.samples_per_second, other.samples_per_second])
    natives = [one.native, other.native]
    note("region clock", [None if each is None else _CLOCKS[each] for each in natives])
    note("Python", [one.python, other.python])
    note("hotloop", [one.version, other.version])
    note("number of environments", [environments(first), environments(second)])
    if first.notes.altered != second.notes.altered:
        found.append(Difference("training", _altered(first), _altered(second), True))
    versions = _libraries(first), _libraries(second)
    for title in versions[0].keys() & versions[1].keys():
        note(f"{title} version", [versions[0][title], versions[1][title]])
    return found


def _altered(analysis: Analysis) -> str:
    return "altered by hotloop" if analysis.notes.altered else "as it is"


def _libraries(analysis: Analysis) -> dict[str, str | None]:
    return {title: use.version for title, use in analysis.notes.libraries.items()}


def environments(analysis: Analysis) -> int | None:
    """How many environments a call of `env.step` steps, as far as the counters say."""
    calls = sum(p.calls for p in analysis.phases if p.name == "env.step" and p.process == "main")
    return round(analysis.run.env_steps / calls) or None if calls else None


def compare_captures(
    first: Analysis,
    second: Analysis,
    names: tuple[str, str] = ("first", "second"),
    *,
    margin: float = MARGIN,
    any_work: bool = False,
    contentions: tuple[Contention | None, Contention | None] = (None, None),
) -> Comparison:
    """The verdict on two captures, from their windows.

    `contentions` say what other programs took from each, where that was watched.
    """
    runs = RunSeries(first), RunSeries(second)
    unit = common_unit(runs)
    found = differences(first, second)
    notes = [str(difference) for difference in found if not difference.refuses]
    if unit is None:
        nothing = not_comparable("no step was counted on one side or both")
        return Comparison(
            names, schema.ENV_STEPS, nothing, [], [], 0, "", margin, interleaved=False
        )
    last = min(run.reached(unit) for run in runs)
    pair = (
        figures(runs[0], unit, last, first, contentions[0]),
        figures(runs[1], unit, last, second, contentions[1]),
    )
    windows = _Windows(pair, runs, unit, last)
    sides = [pair[0].seconds], [pair[1].seconds]
    comparison = Comparison(
        names=names,
        unit=unit,
        whole=judge(windows.whole(), ALPHA, margin, sides),
        phases=judge_phases([pair], ALPHA, margin, windows.phase),
        work=work_changes([pair]),
        pairs=1,
        method=Independent.method,
        margin=margin,
        interleaved=False,
        notes=notes,
    )
    settle(comparison, [pair], ALPHA, margin, any_work)
    refused = [str(difference) for difference in found if difference.refuses]
    if refused:
        comparison.whole = not_comparable("; ".join(refused), comparison.whole)
        comparison.responsible = None
    return comparison


Pair = tuple[Figures, Figures]


class _Windows:
    """One figure in the windows of two runs."""

    def __init__(
        self, pair: Pair, runs: tuple[RunSeries, RunSeries], unit: str, last: float
    ) -> None:
        self._sides = [
            (figure, run.between(unit, WARM_UP * last, last))
            for figure, run in zip(pair, runs, strict=True)
        ]
        self._unit = unit

    def whole(self) -> Independent:
        return self._evidence(lambda side: side.seconds)

    def phase(self, name: str, kind: str, strictest: float) -> Evidence:
        return self._evidence(lambda side: float(getattr(side, kind).get(name, 0.0)))

    def _evidence(self, value: Callable[[Figures | SeriesPoint], float]) -> Independent:
        sides = []
        for figure, windows in self._sides:
            mean = math.log(value(figure)) if value(figure) > 0 else math.nan
            error, blocks = math.inf, 0
            if len(windows) >= FEWEST_WINDOWS:
                steps = [window.counters.get(self._unit, 0.0) for window in windows]
                error = block_bootstrap(steps, [value(window) for window in windows])
                blocks = len(windows) // block_length(len(windows))
            sides.append((mean, error, blocks))
        return Independent(sides[0], sides[1], RUN_TO_RUN * math.sqrt(2.0))
