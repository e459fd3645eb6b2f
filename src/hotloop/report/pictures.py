"""A picture for a paper or a pull request: breakdown, categories, the run over time, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotloop import units
from hotloop.analyze.accounting import outside_share, phase_categories
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time import series, step_cost
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.timeline import LOOP
from hotloop.phases import NO_PHASE_LABEL
from hotloop.report.console.terminal import clean, fit
from hotloop.report.document import Report, history_of
from hotloop.report.figures import ACCENT, OTHER, TEXT, drawn, heading, legend_columns, shade
from hotloop.report.palette import colors
from hotloop.report.view import DEFAULT_VIEW, View
from hotloop.report.words.returns import headline_part

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Bars of the breakdown; smaller phases are combined into one.
MOST_BARS = 10
#: A smaller share of the loop has no visible bar.
SMALLEST_BAR = 0.001
MOST_BANDS = 8
#: Letters of a name in a legend, and of the names that fit side by side in each legend.
LONGEST_NAME = 30
CATEGORY_LETTERS, BAND_LETTERS = 56, 57
#: A start-up that takes more of the run than this is left out of the picture.
FOLDED_SHARE = 0.04
#: Fits a column and a half of a paper and a comment on a pull request.
INCHES = (11.0, 7.4)


def render_png(report: Report, view: View = DEFAULT_VIEW) -> bytes:
    """The picture as PNG."""
    return _draw(report, "png")


def render_svg(report: Report, view: View = DEFAULT_VIEW) -> bytes:
    """The picture as SVG, with real text in it."""
    return _draw(report, "svg")


def _draw(report: Report, format: str) -> bytes:
    history, analysis = history_of(report), report.analysis
    run = history.points()

    def paint(figure: Figure) -> None:
        verdict = report.verdict
        above = 0.34 if verdict.starvation else 0.16
        grid = figure.add_gridspec(3, 2, height_ratios=(above, 1.0, 0.4), width_ratios=(1.0, 1.3))
        top_row = figure.add_subplot(grid[0, :])
        heading(top_row, verdict.headline, _headline(analysis), verdict.starvation)
        _breakdown(figure.add_subplot(grid[1, 0]), analysis)
        _categories(figure.add_subplot(grid[2, 0]), report)
        top = figure.add_subplot(grid[1, 1])
        _over_time(top, history, analysis, run)
        below = figure.add_subplot(grid[2, 1], sharex=top)
        if len(analysis.returns.points) > 1:
            _returns(below, analysis, run)
        else:
            _memory(below, run)

    return drawn(format, INCHES, paint)


def _headline(analysis: Analysis) -> str:
    run = analysis.run
    parts = [fit(clean(" ".join(run.command)), 60).rstrip()]
    parts.append(f"training loop {units.seconds(run.loop_s)}")
    if run.env_steps:
        parts.append(f"{units.count(run.env_steps)} steps, {units.rate(run.steps_per_s)} steps/s")
    if returned := headline_part(analysis):
        parts.append(returned)
    parts.append(clean(run.device))
    return "  ·  ".join(parts)


def _breakdown(axes: Axes, analysis: Analysis) -> None:
    """Each phase's own time, in all its nodes, largest first."""
    own: dict[str, tuple[float, str]] = {NO_PHASE_LABEL: (analysis.outside_s, NO_PHASE_LABEL)}
    for phase in analysis.training_phases:
        seconds, _ = own.get(phase.name, (0.0, ""))
        own[phase.name] = (seconds + phase.loop_self_s, phase.category)
    ordered = sorted(own.items(), key=lambda item: -item[1][0])
    rows = [(name, *row) for name, row in ordered if row[0] > 0]
    seen = [row for row in rows if analysis.run.share(row[1]) >= SMALLEST_BAR][:MOST_BARS]
    rest = sum(seconds for _, seconds, _ in rows[len(seen) :])
    rows = seen or rows[:MOST_BARS]
    palette = colors([category for _, _, category in rows]) | {step_cost.OTHER_PHASES: OTHER}
    if analysis.run.share(rest) >= SMALLEST_BAR:
        rows.append((step_cost.OTHER_PHASES, rest, step_cost.OTHER_PHASES))
    shares = [analysis.run.share(seconds) for _, seconds, _ in rows]
    axes.barh(
        range(len(rows)), shares, color=[palette[category] for *_, category in rows], height=0.72
    )
    for index, (share, (_, seconds, _)) in enumerate(zip(shares, rows, strict=True)):
        text = f" {units.percent(share)}  {units.seconds(seconds)}"
        axes.text(share, index, text, va="center", fontsize=9)
    axes.set_yticks(range(len(rows)), [fit(clean(name), 26).rstrip() for name, *_ in rows])
    axes.tick_params(axis="y", length=0, labelcolor=TEXT)
    axes.invert_yaxis()
    axes.set_xlim(0, max(shares, default=1.0) * 1.38)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.set_title("Own time of each phase", pad=12)


def _categories(axes: Axes, report: Report) -> None:
    """The loop as one bar."""
    shares = {**report.categories, NO_PHASE_LABEL: outside_share(report.analysis)}
    palette = colors(list(shares))
    left = 0.0
    for name, share in shares.items():
        if share < 0.0005:
            continue
        label = f"{fit(clean(name), LONGEST_NAME).rstrip()} {units.percent(share)}"
        axes.barh(0, share, left=left, color=palette[name], height=0.5, label=label)
        left += share
    axes.set_xlim(0, max(left, 1e-9))
    axes.set_ylim(-0.3, 0.3)
    axes.axis("off")
    axes.set_title("Categories")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[:9], labels[:9], loc="upper center", bbox_to_anchor=(0.5, 0.02),
        ncols=legend_columns(labels[:9], 3, CATEGORY_LETTERS), frameon=False, fontsize=8.5,
        handlelength=0.9, columnspacing=1.2,
    )  # fmt: skip


def _over_time(
    axes: Axes, history: RunHistory, analysis: Analysis, run: list[series.SeriesPoint]
) -> None:
    """Share of time by phase over the loop, with its end and interruptions marked."""
    startup = _folded_startup(analysis, run)
    folded = f" (start-up {units.seconds(startup)} not shown)" if startup else ""
    axes.set_title(f"Over time, by phase{folded}", pad=12)
    run = [point for point in run if point.end_s > startup]
    if not run:
        return
    known = phase_categories(analysis)
    bands = step_cost.bands(run, known, MOST_BANDS)
    palette = colors(list(known.values())) | {step_cost.OTHER_PHASES: OTHER}
    edges = [run[0].begin_s, *(point.end_s for point in run)]
    below = [0.0] * len(run)
    seen: dict[str, int] = {}
    for name, values in bands.items():
        if sum(values) < SMALLEST_BAR * sum(point.seconds for point in run):
            continue
        category = known.get(name, name)
        seen[category] = seen.get(category, -1) + 1
        shares = [point.share(seconds) for seconds, point in zip(values, run, strict=True)]
        above = [b + share for b, share in zip(below, shares, strict=True)]
        axes.stairs(
            above, edges, baseline=below, fill=True, label=fit(clean(name), LONGEST_NAME).rstrip(),
            color=shade(palette[category], seen[category]), linewidth=0,
        )  # fmt: skip
        below = above
    _backdrop(axes, history, analysis, run)
    axes.set_ylim(0, 1)
    axes.set_xlim(startup or edges[0], edges[-1])
    axes.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])
    axes.tick_params(axis="x", labelbottom=False)
    # Names of three columns fit between this axis and the edge of the picture; of four, not all do.
    names = axes.get_legend_handles_labels()[1]
    axes.legend(
        loc="upper left", bbox_to_anchor=(-0.03, -0.02),
        ncols=legend_columns(names, 3, BAND_LETTERS), frameon=False, fontsize=8,
        handlelength=0.9, columnspacing=1.0, labelspacing=0.35,
    )  # fmt: skip


def _folded_startup(analysis: Analysis, run: list[series.SeriesPoint]) -> float:
    """Seconds of start-up that would only take space from the loop; 0 if it is short."""
    begin = analysis.run.startup_s
    has_loop = any(point.part == LOOP for point in run)
    return begin if has_loop and begin > FOLDED_SHARE * run[-1].end_s else 0.0


def _backdrop(
    axes: Axes, history: RunHistory, analysis: Analysis, run: list[series.SeriesPoint]
) -> None:
    begin, end = analysis.run.startup_s, analysis.run.wall_s - analysis.run.after_s
    for left, right in ((run[0].begin_s, begin), (end, run[-1].end_s)):
        if right > left:
            axes.axvspan(left, right, color="#14181d", alpha=0.08, linewidth=0)
    for event in history.events():
        width = max(event.end_s - event.begin_s, (run[-1].end_s - run[0].begin_s) / 400)
        color = colors([])["Model" if event.name == "compile" else "Logging"]
        axes.barh(
            1.015, width, left=event.begin_s, height=0.02, align="edge", color=color, clip_on=False
        )


def _memory(axes: Axes, run: list[series.SeriesPoint]) -> None:
    """Memory, and on the other side the steps per second."""
    axes.set_title("Memory and steps per second")
    known = [point for point in run if point.memory_mb is not None]
    if known:
        edges = [known[0].begin_s, *(point.end_s for point in known)]
        values = [point.memory_mb or 0.0 for point in known]
        axes.stairs(values, edges, fill=True, color=ACCENT, alpha=0.15, linewidth=0)
        axes.stairs(values, edges, color=ACCENT, linewidth=1.3, baseline=None)
        axes.set_ylim(0, max(values) * 1.25)
    axes.yaxis.set_major_formatter(lambda value, _: units.megabytes(value))
    axes.tick_params(axis="y", labelcolor=ACCENT)
    axes.xaxis.set_major_formatter(lambda value, _: _clock(value))
    if any(point.steps for point in step_cost.throughput(run)):
        rates = axes.twinx()
        steps = step_cost.throughput(run)
        edges = [steps[0].begin_s, *(point.end_s for point in steps)]
        values = [point.steps_per_s for point in steps]
        rates.stairs(values, edges, color=TEXT, linewidth=1.1, baseline=None)
        rates.set_ylim(bottom=0)
        rates.yaxis.set_major_formatter(lambda value, _: units.rate(value))
        rates.spines["right"].set_visible(True)
        rates.set_ylabel("steps/s", color=TEXT)


def _returns(axes: Axes, analysis: Analysis, run: list[series.SeriesPoint]) -> None:
    """The mean return with the middle 80% of the episodes; evaluations as dots."""
    axes.set_title("Return")
    begin_s = next((point.begin_s for point in run if point.part == LOOP), 0.0)
    points, evaluations = analysis.returns.points, analysis.returns.evaluations
    times = [begin_s + point.end_s for point in points]
    low = [point.delta.quantile(0.1) or 0.0 for point in points]
    high = [point.delta.quantile(0.9) or 0.0 for point in points]
    axes.fill_between(times, low, high, color=ACCENT, alpha=0.15, linewidth=0)
    axes.plot(times, [point.mean for point in points], color=ACCENT, linewidth=1.3)
    if evaluations:
        when = [begin_s + point.end_s for point in evaluations]
        axes.plot(when, [point.mean for point in evaluations], "o", color=TEXT, markersize=3)
    axes.yaxis.set_major_formatter(lambda value, _: units.value(value))
    axes.xaxis.set_major_formatter(lambda value, _: _clock(value))


def _clock(seconds: float) -> str:
    """A time of the run in its shortest form."""
    for factor, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds:g} s"
