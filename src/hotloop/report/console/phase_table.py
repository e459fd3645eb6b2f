"""The tree of phases on a terminal: shares, times and calls, one row per phase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hotloop import units
from hotloop.analyze.accounting import outside_share
from hotloop.analyze.kind import has_training_loop, learns_from_data
from hotloop.analyze.model import Analysis, Phase
from hotloop.analyze.run import Run
from hotloop.phases import NO_PHASE_LABEL
from hotloop.report.console.terminal import Style, clean, fit, fit_phase
from hotloop.report.view import SORTS, View

#: Phases below this share of the loop are left out of the tree.
_SMALLEST_SHARE = 0.002
#: The same for a phase's own time outside the phases inside it, and for time in no phase.
_SMALLEST_OWN_SHARE = 0.005
_SMALLEST_OUTSIDE = 0.0005
#: How a phase is known that neither a library nor the user named.
_TAGS = {"inferred": "(inferred)", "shape": "(by shape)"}


def phase_table(analysis: Analysis, style: Style, view: View) -> str:
    """The phases of the loop as a table; empty if there are none."""
    phases = [p for p in analysis.phases if view.process in ("all", p.process)]
    if not phases:
        return ""
    columns = _columns(analysis, phases)
    numbers = sum(width + 1 for _, width, _ in columns)
    bar = max(min(style.width - numbers - 34, 20), 8)
    name = style.width - numbers - bar - 1
    lines = _heading(analysis, phases, style, name + bar + 1, columns)
    for row in _rows(analysis, phases, view):
        line = _label(row, name) + " " + style.bar(row.share, bar)
        line += "".join(f" {cell(row):>{width}}" for _, width, cell in columns)
        lines.append(style.paint(line.rstrip(), *row.paint))
    return "\n".join(line.rstrip() for line in lines)


def _heading(
    analysis: Analysis, phases: list[Phase], style: Style, room: int, columns: list[_Column]
) -> list[str]:
    what = "training loop" if has_training_loop(analysis) else "run"
    title = f"Where the {units.seconds(analysis.run.loop_s)} of the {what} went"
    if any(p.critical_s is not None for p in phases):
        title += " (share: of the critical path)"
    heading = style.paint("".join(f" {name:>{width}}" for name, width, _ in columns), "dim")
    if len(title) >= room:
        return [style.paint(title, "bold"), " " * room + heading]
    return [style.paint(title.ljust(room), "bold") + heading]


@dataclass(frozen=True)
class _Row:
    label: str
    depth: int
    share: float
    seconds: float
    step_s: float | None = None
    calls: int = 0
    mean_s: float | None = None
    device_s: float | None = None
    paint: tuple[str, ...] = ()
    tag: str = ""


#: A column's name, its width, and the text of a row in it.
_Column = tuple[str, int, Callable[[_Row], str]]


def _columns(analysis: Analysis, phases: list[Phase]) -> list[_Column]:
    # If both are known, each time says whether it is the host's or the device's.
    device = any(p.device_s is not None for p in phases)
    found: list[_Column] = [
        ("share", 6, lambda row: units.percent(row.share)),
        ("host time" if device else "time", 11, lambda row: units.seconds(row.seconds)),
    ]
    if device:
        found.append(("device time", 11, lambda row: _seconds(row.device_s)))
    if analysis.run.env_steps and not learns_from_data(analysis):
        found.append(("per step", 9, lambda row: _seconds(row.step_s)))
    found.append(("calls", 11, lambda row: units.count(row.calls) if row.calls else ""))
    found.append(("per call", 9, lambda row: _seconds(row.mean_s)))
    return found


def _seconds(value: float | None) -> str:
    return "" if value is None else units.seconds(value)


def _label(row: _Row, width: int) -> str:
    """A row's name and how it is known; the latter only if there is room for both."""
    indent, name = "  " * row.depth, clean(row.label)
    whole = f"{indent}{name} {row.tag}" if row.tag else indent + name
    if len(whole) <= width:
        return whole.ljust(width)
    return indent + fit_phase(name, width - len(indent))


def _rows(analysis: Analysis, phases: list[Phase], view: View) -> list[_Row]:
    order, run = SORTS[view.sort], analysis.run
    children: dict[tuple[str, str], list[Phase]] = {}
    known = {(p.process, p.path) for p in phases}
    for phase in phases:
        parent = phase.parent if (phase.process, phase.parent) in known else ""
        children.setdefault((phase.process, parent), []).append(phase)
    rows: list[_Row] = []

    def visit(process: str, path: str, depth: int) -> None:
        for phase in sorted(children.get((process, path), []), key=order):
            if phase.share < _SMALLEST_SHARE or (depth == 0 and _is_idle(phase)):
                continue
            rows.append(_phase_row(phase, depth, run))
            if view.depth is None or depth + 1 < view.depth:
                before = len(rows)
                visit(process, phase.path, depth + 1)
                own = run.share(phase.loop_self_s)
                if len(rows) > before and own >= _SMALLEST_OWN_SHARE:
                    label = f"({phase.name} itself)"
                    rows.append(_remainder(label, depth + 1, own, phase.self_s, run))

    for process in dict.fromkeys(p.process for p in phases):
        if view.process == "all":
            rows.append(_Row(process, 0, 0.0, 0.0, paint=("bold",)))
        visit(process, "", 0)
    outside = outside_share(analysis)
    if view.process in ("all", "main") and outside >= _SMALLEST_OUTSIDE:
        rows.append(_remainder(NO_PHASE_LABEL, 0, outside, analysis.outside_s, run))
    return rows


def _is_idle(phase: Phase) -> bool:
    """Whether this is another thread that waits for work: none of the loop's time went there."""
    return phase.thread != "main" and phase.name == "wait"


def _remainder(label: str, depth: int, share: float, seconds: float, run: Run) -> _Row:
    """Time that no phase below has."""
    return _Row(label, depth, share, seconds, run.per_step(seconds), paint=("dim",))


def _phase_row(phase: Phase, depth: int, run: Run) -> _Row:
    label = phase.name if phase.thread == "main" else f"{phase.name} [{phase.thread}]"
    return _Row(
        label,
        depth,
        phase.share,
        phase.total_s,
        run.per_step(phase.total_s),
        phase.calls,
        phase.mean_s if phase.calls else None,
        phase.device_s,
        tag=_TAGS.get(phase.how, ""),
    )


def summary_table(analysis: Analysis, top: int = 30) -> str:
    """Calls, total, average, least, most and memory of each region: `Profiler.summary()`."""
    phases = analysis.phases[:top]
    labels = ["  " * p.depth + clean(p.name) for p in phases]
    name = min(max([len(label) for label in labels] + [9]), 48)
    head = f"{'region':<{name}} {'calls':>9} {'total':>10} {'avg':>9} {'min':>9} {'max':>9}"
    head += f" {'CPU peak':>9} {'GPU peak':>9}"
    lines = [head]
    for p, label in zip(phases, labels, strict=True):
        cells = (units.seconds(s) for s in (p.total_s, p.mean_s, p.min_s, p.max_s))
        total, mean, low, high = cells
        cpu = units.megabytes(p.cpu_peak_mb) if p.cpu_peak_mb else "-"
        gpu = units.megabytes(p.gpu_peak_mb) if p.gpu_peak_mb else "-"
        line = f"{fit(label, name)} {units.count(p.calls):>9} {total:>10} {mean:>9}"
        line += f" {low:>9} {high:>9} {cpu:>9} {gpu:>9}"
        lines.append((line + ("  " + " ".join(p.marks) if p.marks else "")).rstrip())
    return "\n".join(lines)
