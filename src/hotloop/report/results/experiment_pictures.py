"""Pictures of experiments: a comparison with its intervals, a sweep with its knee, claims beside
what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop import units
from hotloop.analyze.comparing.compare import Comparison, one_of
from hotloop.analyze.comparing.experiments import Investigation, Sweep
from hotloop.analyze.comparing.hypothesis import CEILING, CONFIRMED, REFUTED
from hotloop.analyze.comparing.judgement import FASTER, SLOWER, UNKNOWN
from hotloop.analyze.comparing.scaling import Setting, in_proportion, is_numeric
from hotloop.phases import NO_PHASE, NO_PHASE_LABEL
from hotloop.report.console.terminal import clean, fit
from hotloop.report.figures import (
    ACCENT,
    BAD,
    DOUBT,
    FAINT,
    GOOD,
    LINE,
    MUTED,
    PALE,
    TEXT,
    drawn,
    heading,
    shade,
)
from hotloop.report.palette import colors
from hotloop.report.results.comparison import ANYTHING, because, headline, in_words, ratio, rows_of
from hotloop.report.results.comparison_page import part_category
from hotloop.report.results.investigation import goal_in_words, measured_in_words, together_in_words
from hotloop.report.results.sweep import design_in_words, largest_phases, setting_name
from hotloop.report.results.sweep import headline as sweep_headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 10.0
#: Height of a heading, of an axis, and of each row, in inches.
HEAD, FOOT, ROW = 0.95, 0.75, 0.3

_TONES = {
    FASTER: GOOD, SLOWER: BAD, UNKNOWN: DOUBT, CONFIRMED: GOOD, REFUTED: BAD, CEILING: MUTED,
}  # fmt: skip


@dataclass(frozen=True)
class _Estimate:
    """An estimate with its interval and the expectation."""

    name: str
    estimate: float | None
    low: float | None
    high: float | None
    text: str
    tone: str
    expected: tuple[float, float] | None = None
    #: All phases, or all changes, together.
    whole: bool = False


def comparison_picture(comparison: Comparison, format: str) -> bytes:
    """How many times faster, as a whole and by phase."""
    rows = [
        _Estimate(
            name, row.estimate, row.low, row.high,
            f"{ratio(row)}   {fit(in_words(row), 44).rstrip()}".strip(),
            _TONES.get(row.verdict, ACCENT), whole=index == 0,
        )
        for index, (name, row) in enumerate(rows_of(comparison))
    ]  # fmt: skip
    pairs = units.plural(comparison.pairs, "interleaved pair")
    runs = pairs if comparison.interleaved else "two captures"
    below = because(comparison) or f"{runs}, per {one_of(comparison.unit)}"
    return _intervals(
        format, headline(comparison), below, rows, margin=comparison.margin,
        label=f"times faster: {clean(comparison.names[1])} beside {clean(comparison.names[0])}",
    )  # fmt: skip


def investigation_picture(investigation: Investigation, format: str) -> bytes:
    """Each claim next to its measurement, with the goal."""
    rows = []
    for tried in investigation.tried:
        if tried.hypothesis.is_delay:
            continue  # its slope is not a gain, and has another scale
        whole = tried.comparison.whole if tried.comparison else None
        expected = tried.hypothesis.expected
        low, high = (whole.low, whole.high) if whole else (None, None)
        text = f"{measured_in_words(tried)}   {tried.finding.verdict}".strip()
        tone = _TONES.get(tried.finding.verdict, FAINT)
        estimate = whole.estimate if whole else None
        span = (expected.low, expected.high)
        rows.append(_Estimate(tried.hypothesis.name, estimate, low, high, text, tone, span))
    if investigation.combined is not None and len(investigation.combined_of) > 1:
        whole = investigation.combined.whole
        tone = _TONES.get(whole.verdict, ACCENT)
        figures = (whole.estimate, whole.low, whole.high)
        rows.append(_Estimate("together", *figures, ratio(whole), tone, whole=True))
    goals = {"minimum": investigation.minimum_goal, "stretch": investigation.stretch_goal}
    return _intervals(
        format, together_in_words(investigation), "  ".join(goal_in_words(investigation)), rows,
        marks={name: goal for name, goal in goals.items() if goal is not None},
        label="times faster than the baseline (pale: expected)",
    )  # fmt: skip


def _intervals(
    format: str,
    title: str,
    below: str,
    rows: Sequence[_Estimate],
    *,
    label: str,
    margin: float | None = None,
    marks: dict[str, float] | None = None,
) -> bytes:
    body = max(len(rows), 1) * ROW + FOOT

    def paint(figure: Figure) -> None:
        grid = figure.add_gridspec(2, 1, height_ratios=(HEAD, body))
        heading(figure.add_subplot(grid[0]), title, below)
        axes = figure.add_subplot(grid[1])
        _rows(axes, rows, [1.0, *(marks or {}).values()])
        axes.axvline(1.0, color=LINE, zorder=0)
        if margin is not None:
            axes.axvspan(1 / (1 + margin), 1 + margin, color=TEXT, alpha=0.06, linewidth=0)
        for name, value in (marks or {}).items():
            axes.axvline(value, color=FAINT, linestyle=(0, (4, 3)), linewidth=1, zorder=0)
            behind = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            axes.text(
                value, -0.75, name, ha="center", va="center", fontsize=8.5, color=MUTED, bbox=behind
            )
        axes.set_xlabel(label)

    return drawn(format, (WIDE, HEAD + body), paint)


def _rows(axes: Axes, rows: Sequence[_Estimate], include: list[float]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    low, high = _reach(rows, include)
    axes.set_xlim(low, high)
    for index, row in enumerate(rows):
        if row.expected is not None:
            begin, end = max(row.expected[0], low), min(row.expected[1], high)
            axes.barh(index, max(end - begin, 0), left=begin, height=0.62, color=PALE, zorder=1)
        if row.estimate is not None:
            if row.low is not None and row.high is not None:
                axes.plot([max(row.low, low), min(row.high, high)], [index] * 2, color=row.tone)
            axes.plot([row.estimate], [index], "D" if row.whole else "o", color=row.tone, ms=5.5)
        axes.annotate(
            clean(row.text), (1, index), xycoords=("axes fraction", "data"), xytext=(10, 0),
            textcoords="offset points", va="center", fontsize=9, color=row.tone,
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), [fit(clean(row.name), 30).rstrip() for row in rows])
    axes.tick_params(axis="y", length=0, labelcolor=TEXT)
    axes.set_ylim(len(rows) - 0.4, -1.0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(low, high)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _reach(rows: Sequence[_Estimate], include: list[float]) -> tuple[float, float]:
    values = list(include)
    for row in rows:
        values += [row.estimate] if row.estimate else []
        if row.low and row.high and row.high <= ANYTHING * row.low:
            values += [row.low, row.high]
        values += [each for each in row.expected or () if 0 < each < float("inf")]
    low, high = min(values), max(values)
    room = (high / low) ** 0.06 * 1.02
    return low / room, high * room


#: Marks of an axis of factors, the roundest first.
_ROUND = (1, 10, 100, 0.1, 2, 5, 0.5, 20, 50, 0.2, 3, 1.5, 30, 1.2, 0.8, 1.1, 0.9, 1.05, 0.95)
_MOST_TICKS = 9


def _ticks(low: float, high: float) -> list[float]:
    """Marks that do not run into each other."""
    least = (high / low) ** (1 / _MOST_TICKS)
    found: list[float] = []
    for value in _ROUND:
        if low <= value <= high and all(max(value / f, f / value) >= least for f in found):
            found.append(value)
    return found


# -- sweeps --


def sweep_picture(sweep: Sweep, format: str) -> bytes:
    """Steps per second over the first variable with its knee, and the parts of a step."""

    def paint(figure: Figure) -> None:
        grid = figure.add_gridspec(2, 2, height_ratios=(0.2, 1.0), width_ratios=(1.15, 1.0))
        below = f"{fit(clean(sweep.command), 70).rstrip()}  ·  {design_in_words(sweep)}"
        heading(figure.add_subplot(grid[0, :]), sweep_headline(sweep), below)
        _speed(figure.add_subplot(grid[1, 0]), sweep)
        _made_of(figure.add_subplot(grid[1, 1]), sweep)

    return drawn(format, (WIDE, 5.2), paint)


def _speed(axes: Axes, sweep: Sweep) -> None:
    """Medians with intervals; if runs are not cut short, their time instead."""
    name, values = next(iter(sweep.variables.items()))
    numeric = is_numeric(values)
    grows = sweep.stop_after is None
    lines: dict[tuple[str, ...], list[Setting]] = {}
    for point in sweep.points:
        lines.setdefault(point.values[1:], []).append(point)
    for nth, (others, points) in enumerate(lines.items()):
        color = shade(ACCENT, nth * 2)
        label = " ".join(f"{n}={v}" for n, v in zip(list(sweep.variables)[1:], others, strict=True))
        x = [_x(point, values, numeric) for point in points]
        y = [point.loop_s if grows else point.throughput for point in points]
        axes.plot(x, y, "o-", color=color, ms=5, label=clean(label) if others else None)
        for at, point in zip(x, points, strict=True):
            if not grows and point.low is not None and point.high is not None:
                axes.plot([at, at], [point.low, point.high], color=color, linewidth=2)
    if numeric:
        axes.set_xscale("log")
        _in_proportion(axes, sweep, grows)
    axes.set_yscale("log")
    shown = [value for value in values if any(p.values[0] == value for p in sweep.points)]
    places = [float(value) if numeric else values.index(value) for value in shown]
    axes.set_xticks(places, [fit(clean(value), 12).rstrip() for value in shown])
    axes.xaxis.set_minor_locator(_no_marks())
    _y_ticks(axes, units.seconds if grows else units.rate)
    if name in sweep.knees and numeric:
        axes.axvline(float(sweep.knees[name]), color=DOUBT, linestyle=(0, (2, 2)), zorder=0)
        axes.annotate(
            f"knee at {clean(sweep.knees[name])}", (float(sweep.knees[name]), 0.02),
            xycoords=("data", "axes fraction"), xytext=(5, 0), textcoords="offset points",
            color=DOUBT, fontsize=9,
        )  # fmt: skip
    axes.set_xlabel(clean(name))
    axes.set_title("Time of a run" if grows else "Steps per second", pad=10)
    if len(lines) > 1 or numeric:
        handles, labels = axes.get_legend_handles_labels()
        if labels:
            axes.legend(handles, labels, frameon=False, fontsize=8.5)


def _no_marks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _x(point: Setting, values: list[str], numeric: bool) -> float:
    return float(point.values[0]) if numeric else values.index(point.values[0])


def _in_proportion(axes: Axes, sweep: Sweep, grows: bool) -> None:
    if len(sweep.variables) > 1:
        return
    ideal = in_proportion(sweep.points, lambda p: p.loop_s if grows else p.throughput)
    pairs = sorted(zip((float(p.values[0]) for p in sweep.points), ideal, strict=True))
    axes.plot(
        [x for x, _ in pairs], [y for _, y in pairs], color=FAINT, linestyle=(0, (4, 4)),
        linewidth=1, label="in proportion",
    )  # fmt: skip


def _y_ticks(axes: Axes, text: Callable[[float], str]) -> None:
    """Round numbers; a narrow range has more of them than powers of ten."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    low, high = axes.get_ylim()
    narrow = high < 12 * low
    axes.yaxis.set_major_locator(MaxNLocator(5) if narrow else LogLocator(10, subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(_no_marks())
    axes.yaxis.set_major_formatter(lambda value, _: text(value))


def _made_of(axes: Axes, sweep: Sweep) -> None:
    """Each phase's own time per step, one bar a setting."""
    phases = [*largest_phases(sweep.points), NO_PHASE]
    palette = colors([part_category(name) for name in phases])
    seen: dict[str, int] = {}
    left = [0.0] * len(sweep.points)
    for name in phases:
        category = part_category(name)
        seen[category] = seen.get(category, -1) + 1
        widths = [point.own.get(name, 0.0) for point in sweep.points]
        if not any(widths):
            continue
        axes.barh(
            range(len(sweep.points)), widths, left=left, height=0.7,
            label=clean(name) or NO_PHASE_LABEL, color=shade(palette[category], seen[category]),
        )  # fmt: skip
        left = [a + b for a, b in zip(left, widths, strict=True)]
    names = [fit(clean(setting_name(sweep, point)), 24).rstrip() for point in sweep.points]
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0, labelcolor=TEXT)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda value, _: units.seconds(value))
    axes.locator_params(axis="x", nbins=5)
    axes.set_title(f"Time per {one_of(sweep.unit)}, by phase", pad=10)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3, frameon=False, fontsize=8.5,
        handlelength=0.9, columnspacing=1.2,
    )  # fmt: skip
