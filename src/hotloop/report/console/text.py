"""The report on a terminal: findings first, then the breakdown, then the detail."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.kind import has_training_loop, span_of
from hotloop.analyze.model import Analysis, Overhead, of_main_thread
from hotloop.analyze.processes.workers import split_steps
from hotloop.diagnose.verdict import starvation_of
from hotloop.report import one_process
from hotloop.report.console.device_text import bound_line, device_text
from hotloop.report.console.finding_text import finding_text
from hotloop.report.console.function_tables import (
    exact_functions,
    hot_functions,
    thread_functions,
    unidentified_code,
)
from hotloop.report.console.phase_table import phase_table
from hotloop.report.console.run_table import run_table_text
from hotloop.report.console.terminal import Style, clean, fit, joined, wrapped
from hotloop.report.document import Report, remarks
from hotloop.report.view import DEFAULT_VIEW, View
from hotloop.report.words.headline import headline_parts, optimizer_line
from hotloop.report.words.imports import import_table
from hotloop.report.words.returns import small_print as returns_print

#: Processes in the list; `--process NAME` shows any of them.
_MOST_PROCESSES = 16
#: Parts of the run around the loop below this are left out.
_SHORTEST_S = 0.01


def text_report(report: Report, style: Style, view: View = DEFAULT_VIEW) -> str:
    """The whole report, as text."""
    analysis = report.analysis
    if one_process.is_selected(view):
        return _process_report(report, style, view)
    blocks = [
        _headline(analysis, style),
        _verdict(report, style),
        *[finding_text(finding, report.verdict, style) for finding in report.findings],
        phase_table(analysis, style, view),
        wrapped(clean(optimizer_line(analysis)), style),
        unidentified_code(analysis, style),
        run_table_text(analysis, style),
        wrapped(bound_line(analysis, view.process), style),
        device_text(analysis, style),
        _around_the_loop(analysis, style),
        import_table(analysis, style),
        hot_functions(analysis, style, view),
        thread_functions(analysis, style, view),
        exact_functions(analysis, style, view),
        _processes(analysis, style),
        _small_print(report, style),
    ]
    return joined(blocks)


def _process_report(report: Report, style: Style, view: View) -> str:
    """A process other than the main one: its phases, limits and functions."""
    analysis = report.analysis
    headline = clean(one_process.headline(analysis, view.process))
    starved = starvation_of(analysis, view.process)
    blocks = [
        _headline(analysis, style),
        wrapped(starved, style, "yellow") if starved else "",
        wrapped(f"{headline} {bound_line(analysis, view.process)}", style, "bold"),
        phase_table(analysis, style, view),
        hot_functions(analysis, style, view),
        _processes(analysis, style),
        _small_print(report, style),
    ]
    return joined(blocks)


def _headline(analysis: Analysis, style: Style) -> str:
    command = fit(clean(" ".join(analysis.run.command)), style.width - 9).rstrip()
    title = style.paint("hotloop", "bold", "cyan") + "  " + command
    return title + "\n" + _listed(headline_parts(analysis), style)


def _listed(parts: list[str], style: Style) -> str:
    """Parts with dots between them; lines break at the dots, never inside a part."""
    held = [_held(part, style.width) for part in parts]
    return wrapped(" · ".join(held), style, "dim").replace("\xa0", " ")


def _held(part: str, width: int) -> str:
    """A part without places to break at; one that is wider than a line may break at its commas."""
    pieces = [part] if len(part) <= width else part.split(", ")
    return ", ".join(piece.replace(" ", "\xa0") for piece in pieces)


def _verdict(report: Report, style: Style) -> str:
    verdict = report.verdict
    parts = [wrapped(verdict.starvation, style, "yellow")] if verdict.starvation else []
    parts.append(wrapped(verdict.headline, style, "bold"))
    if report.ending:
        parts.append(wrapped(report.ending, style, "yellow"))
    if verdict.details:
        parts.append(wrapped(" ".join(verdict.details), style))
    return "\n".join(parts)


def _around_the_loop(analysis: Analysis, style: Style) -> str:
    lines = []
    for label, lasted, phases in (
        ("Before the loop", analysis.run.startup_s, analysis.startup),
        ("After the loop", analysis.run.after_s, analysis.after),
    ):
        if lasted < _SHORTEST_S:
            continue
        # Other threads and processes overlap with it: their times add nothing.
        outermost = (p for p in of_main_thread(phases) if p.depth == 0)
        largest = sorted(outermost, key=lambda p: -p.total_s)[:4]
        parts = [
            f"{clean(p.name)} {units.seconds(p.total_s)}"
            for p in largest
            if p.total_s > _SHORTEST_S
        ]
        text = f"{label} {units.seconds(lasted)}"
        lines.append(wrapped(text + (": " + ", ".join(parts) if parts else ""), style))
    if analysis.once and has_training_loop(analysis):
        once: dict[str, float] = {}
        for each in analysis.once:
            once[each.name] = once.get(each.name, 0.0) + each.seconds
        most = sorted(once, key=lambda name: -once[name])[:4]
        parts = [f"{clean(name)} {units.seconds(once[name])}" for name in most]
        text = f"One-time work in the {span_of(analysis)} (not in rates or findings): "
        text += ", ".join(parts)
        lines.append(wrapped(text, style))
    return "\n".join(lines)


def _processes(analysis: Analysis, style: Style) -> str:
    if len(analysis.processes) < 2:
        return ""
    lines = [style.paint("Processes", "bold")]
    split = split_steps(analysis.phases)
    if split is not None:
        lines.append(
            wrapped(
                f"env.step {units.seconds(split.step_s)}: workers computing "
                f"{units.seconds(split.computing_s)}, waiting for the slowest "
                f"{units.seconds(split.waiting_s)}, moving data {units.seconds(split.moving_s)}",
                style,
                indent=2,
            )
        )
    hosts = len({process.host for process in analysis.processes})
    for process in analysis.processes[:_MOST_PROCESSES]:
        memory = units.megabytes(process.memory_peak_mb) if process.memory_peak_mb else ""
        ended = "" if process.ended else "  no end (killed, or still running)"
        name = analysis.name_of(process.name)
        name = fit(clean(f"{process.host}: {name}" if hosts > 1 else name), 24)
        lines.append(
            f"  {name} {units.seconds(process.wall_s):>11}  "
            f"in phases {units.percent(process.busy_share):>6}  {memory:>9}{ended}".rstrip()
        )
    more = len(analysis.processes) - _MOST_PROCESSES
    if more > 0:
        lines.append(f"  … and {more} more (--process NAME shows one)")
    return "\n".join(lines)


def _beside_regions(overhead: Overhead) -> str:
    parts = (
        ("hooks", overhead.hooks_s),
        ("sampler", overhead.sampler_s),
        ("GPU recordings", overhead.device_s),
    )
    return "".join(f", {name} {units.seconds(cost)}" for name, cost in parts if cost)


def _small_print(report: Report, style: Style) -> str:
    analysis, shares = report.analysis, report.accounting
    overhead = analysis.overhead
    lines = [
        f"Of the {span_of(analysis)}, {units.percent(shares.explained)} is explained, "
        f"{units.percent(shares.inferred)} inferred and {units.percent(shares.unexplained)} "
        f"unexplained. hotloop's own cost, {units.percent(overhead.share)} of it "
        f"({units.plural(overhead.regions, 'region')} at {overhead.region_ns:.0f} ns"
        f"{_beside_regions(overhead)}), is excluded."
    ]
    if analysis.run.header.native is False:
        why = clean(analysis.run.header.why_twin or "")
        lines.append(f"Measured with the pure-Python twin: {why}.")
    if analysis.damaged:
        damaged = units.plural(analysis.damaged, "damaged line")
        lines.append(f"Skipped {damaged} of the capture.")
    if analysis.damaged_values:
        damaged = units.plural(analysis.damaged_values, "damaged value")
        lines.append(f"Skipped {damaged} of the capture.")
    if said := returns_print(analysis):
        lines.append(said)
    lines += [clean(remark) for remark in remarks(analysis)]
    failures = analysis.notes.failures
    if failures:
        named = ", ".join(clean(f"{name} ({error})") for name, error in failures.items())
        lines.append(f"Hooks that failed and were disabled: {named}.")
    return "\n".join(wrapped(line, style, "dim") for line in lines)
