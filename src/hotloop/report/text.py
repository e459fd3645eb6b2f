"""The report on a terminal: findings first, then the breakdown, then the detail."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from hotloop.analyze.functions import short_file
from hotloop.analyze.model import Analysis, Phase
from hotloop.analyze.workers import split_steps
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.recorded import gauge_rise
from hotloop.diagnose.verdict import verdict
from hotloop.report import units
from hotloop.report.device import bound_line, device_text
from hotloop.report.terminal import Style, clean, fit

#: What `--sort` may say, and by what each orders the phases of one level.
SORTS: dict[str, Callable[[Phase], float]] = {
    "total": lambda p: -p.total_s,
    "self": lambda p: -p.self_s,
    "calls": lambda p: -p.calls,
    "mean": lambda p: -p.mean_s,
    "max": lambda p: -p.max_s,
    "score": lambda p: -p.score,
}

#: Below this share of the loop a line of the tree says nothing that helps.
_SMALLEST_SHARE = 0.002


@dataclass(frozen=True)
class View:
    """What of an analysis to show."""

    sort: str = "total"
    top: int = 10
    depth: int | None = None
    process: str = "main"


def text_report(
    analysis: Analysis, findings: list[Finding], style: Style, view: View | None = None
) -> str:
    """The whole report, as text."""
    view = view or View()
    blocks = [
        _headline(analysis, style),
        _wrapped(verdict(analysis, findings), style, "bold"),
        *[_finding(finding, style) for finding in findings],
        _tree(analysis, style, view),
        _wrapped(bound_line(analysis), style),
        device_text(analysis, style),
        _around_the_loop(analysis, style),
        _functions(analysis, style, view),
        _exact_functions(analysis, style, view),
        _processes(analysis, style),
        _small_print(analysis, style),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _headline(analysis: Analysis, style: Style) -> str:
    run = analysis.run
    parts = [f"{units.seconds(run.wall_s)} in all, training loop {units.seconds(run.loop_s)}"]
    if run.env_steps:
        parts.append(f"{units.count(run.env_steps)} steps, {units.rate(run.steps_per_s)} steps/s")
    if run.counters.get("episodes"):
        episodes = f"{units.count(run.counters['episodes'])} episodes"
        parts.append(f"{episodes}, {units.rate(run.steps_per_episode or 0)} steps each")
    if run.counters.get("gradient_steps"):
        updates = f"{units.count(run.counters['gradient_steps'])} gradient steps"
        if run.batch_size:
            updates += f" of {units.rate(run.batch_size)} rows"
        parts.append(updates)
    parts.append(run.device)
    if run.processes > 1:
        parts.append(f"{run.processes} processes")
    if run.memory_peak_mb:
        parts.append(f"peak memory {units.megabytes(run.memory_peak_mb)}")
    command = fit(clean(" ".join(run.command)), style.width - 9).rstrip()
    title = style.paint("hotloop", "bold", "cyan") + "  " + command
    return title + "\n" + _wrapped(" · ".join(parts), style, "dim")


def _finding(finding: Finding, style: Style) -> str:
    colour = {"critical": "red", "warning": "yellow", "healthy": "green"}.get(
        finding.severity, "cyan"
    )
    head = style.paint(f"{finding.severity.upper()} {finding.id}", "bold", colour)
    gain = f"{finding.gain.low:.2g} to {finding.gain.high:.2g} times faster"
    # What is healthy promises nothing.
    said = "" if finding.severity == "healthy" else f"  {gain} ({finding.confidence} confidence)"
    lines = [head + said]
    lines.append(_wrapped(finding.title, style, indent=2))
    for place in finding.where[:3]:
        name = clean(f"{short_file(place.file)}:{place.line} {place.function}")
        lines.append("  at " + fit(name, style.width - 5).rstrip())
    lines.append(_wrapped(finding.fix, style, indent=2))
    for sign, snippet in (("-", finding.before), ("+", finding.after)):
        lines += [f"    {sign} {clean(line)}" for line in snippet.splitlines()]
    if finding.learning:
        lines.append(_wrapped(f"Learning: {finding.learning}", style, indent=2))
    if finding.verify:
        lines.append(_command(clean(finding.verify), style))
    return "\n".join(lines)


def _command(command: str, style: Style) -> str:
    """A command to be pasted: never cut, continued on the next line where it is too long."""
    command, _, comment = command.partition("  # ")
    if comment:
        # Before the command, as it is what has to be done first.
        return _wrapped(f"# {comment}", style, indent=2) + "\n" + _command(command, style)
    if len(command) + 2 <= style.width:
        return f"  {command}"
    try:
        words = shlex.split(command)
    except ValueError:
        return f"  {command}"
    lines = ["  " + shlex.quote(words[0])] if words else []
    for word in map(shlex.quote, words[1:]):
        if len(lines[-1]) + len(word) + 3 <= style.width:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            lines.append(f"      {word}")
    return "\n".join(lines)


def _tree(analysis: Analysis, style: Style, view: View) -> str:
    phases = [p for p in analysis.phases if view.process in ("all", p.process)]
    if not phases:
        return ""
    per_step = bool(analysis.run.env_steps)
    # Host time is not device time: where both are known, each says which it is.
    device = any(p.device_s is not None for p in phases)
    columns = ["share", "host time", "device time"] if device else ["share", "time"]
    columns += [*(["per step"] if per_step else []), "calls", "per call"]
    widths = [6, 11, *([11] if device else []), *([9] if per_step else []), 11, 9]
    numbers = sum(widths) + len(widths)
    bar = max(min(style.width - numbers - 34, 20), 8)
    name = style.width - numbers - bar - 1
    title = f"Where the {units.seconds(analysis.run.loop_s)} of the training loop went"
    heading = "".join(f" {column:>{w}}" for column, w in zip(columns, widths, strict=True))
    lines = []
    if len(title) > name + bar:
        lines.append(style.paint(title, "bold"))
        title = ""
    lines.append(style.paint(title.ljust(name + bar + 1), "bold") + style.paint(heading, "dim"))
    for row in _rows(analysis, phases, view):
        cells = [units.percent(row.share), units.seconds(row.seconds)]
        if device:
            cells.append(row.device)
        if per_step:
            cells.append(units.seconds(row.seconds / analysis.run.env_steps))
        cells += [units.count(row.calls) if row.calls else "", row.per_call]
        label = fit("  " * row.depth + clean(row.label), name)
        line = label + " " + style.bar(row.share, bar)
        line += "".join(f" {cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
        if row.marks:
            mark = " ".join(row.marks)
            if len(line) + len(mark) + 1 <= style.width:
                line += " " + mark
        lines.append(style.paint(line, *row.paint) if row.paint else line)
    return "\n".join(line.rstrip() for line in lines)


@dataclass
class _Row:
    label: str
    depth: int
    share: float
    seconds: float
    calls: int = 0
    per_call: str = ""
    marks: tuple[str, ...] = ()
    paint: tuple[str, ...] = ()
    device: str = ""


def _rows(analysis: Analysis, phases: list[Phase], view: View) -> list[_Row]:
    order = SORTS[view.sort]
    loop_s = analysis.run.loop_s
    children: dict[tuple[str, str], list[Phase]] = {}
    known = {(p.process, p.path) for p in phases}
    for phase in phases:
        parent = phase.parent if (phase.process, phase.parent) in known else ""
        children.setdefault((phase.process, parent), []).append(phase)
    rows: list[_Row] = []

    def visit(process: str, path: str, depth: int) -> None:
        for phase in sorted(children.get((process, path), []), key=order):
            if phase.share < _SMALLEST_SHARE:
                continue
            rows.append(_phase_row(phase, depth))
            if view.depth is None or depth + 1 < view.depth:
                before = len(rows)
                visit(process, phase.path, depth + 1)
                own = phase.self_s / loop_s if loop_s else 0.0
                if len(rows) > before and own >= 0.005:
                    label = f"({phase.name} itself)"
                    rows.append(_Row(label, depth + 1, own, phase.self_s, paint=("dim",)))

    for process in dict.fromkeys(p.process for p in phases):
        if view.process == "all":
            rows.append(_Row(process, 0, 0.0, 0.0, paint=("bold",)))
        visit(process, "", 0)
    if view.process in ("all", "main") and loop_s and analysis.outside_s / loop_s >= 0.0005:
        rows.append(
            _Row(
                "(in no phase)", 0, analysis.outside_s / loop_s, analysis.outside_s, paint=("dim",)
            )
        )
    return rows


def _phase_row(phase: Phase, depth: int) -> _Row:
    label = phase.name if phase.thread == "main" else f"{phase.name} [{phase.thread}]"
    if phase.how == "inferred":
        label += " (inferred)"
    elif phase.how == "shape":
        label += " (by shape)"
    return _Row(
        label,
        depth,
        phase.share,
        phase.total_s,
        phase.calls,
        units.seconds(phase.mean_s) if phase.calls else "",
        tuple(phase.marks),
        ("red",) if "CRITICAL" in phase.marks and depth > 0 else (),
        units.seconds(phase.device_s) if phase.device_s is not None else "",
    )


def _around_the_loop(analysis: Analysis, style: Style) -> str:
    lines = []
    for label, whole, phases in (
        ("Before the loop", analysis.run.startup_s, analysis.startup),
        ("After the loop", analysis.run.after_s, analysis.after),
    ):
        if whole < 0.01:
            continue
        largest = sorted((p for p in phases if p.depth == 0), key=lambda p: -p.total_s)[:4]
        parts = [f"{clean(p.name)} {units.seconds(p.total_s)}" for p in largest if p.total_s > 0.01]
        text = f"{label} {units.seconds(whole)}"
        lines.append(_wrapped(text + (": " + ", ".join(parts) if parts else ""), style))
    return "\n".join(lines)


def _functions(analysis: Analysis, style: Style, view: View) -> str:
    functions = [f for f in analysis.functions if f.share >= 0.005][: view.top]
    if not functions:
        return ""
    lines = [style.paint("Hot functions, by their own time in the loop (sampled)", "bold")]
    for function in functions:
        place = f"{short_file(function.file)}:{function.hot_line}"
        how = _how(function.python_share, function.native_share, function.waiting_share)
        phase = function.phase.rpartition("/")[2] or "(in no phase)"
        left = f"  {units.percent(function.share):>6}  "
        room = style.width - len(left) - 18 - len(how) - 3
        name = clean(f"{function.function}  {place}")
        line = left + fit(clean(phase), 16) + "  " + fit(name, room) + " " + style.paint(how, "dim")
        lines.append(line.rstrip())
    return "\n".join(lines)


def _how(python: float, native: float, waiting: float) -> str:
    largest = max((python, "Python"), (native, "native"), (waiting, "waiting"))
    return f"{largest[1]} {largest[0]:.0%}" if largest[0] > 0 else ""


def _exact_functions(analysis: Analysis, style: Style, view: View) -> str:
    if not analysis.exact_functions:
        return ""
    lines = [style.paint("Functions by cumulative time (exact; see main.prof)", "bold")]
    lines.append(style.paint(f"  {'total':>9} {'self':>9} {'calls':>11}  function", "dim"))
    for row in analysis.exact_functions[: view.top]:
        place = clean(
            f"{row.get('function')}  {short_file(str(row.get('file')))}:{row.get('line')}"
        )
        cells = f"  {units.seconds(_float(row.get('total_s'))):>9}"
        cells += f" {units.seconds(_float(row.get('self_s'))):>9}"
        cells += f" {units.count(_float(row.get('calls'))):>11}  "
        lines.append((cells + fit(place, style.width - len(cells))).rstrip())
    return "\n".join(lines)


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _processes(analysis: Analysis, style: Style) -> str:
    if len(analysis.processes) < 2:
        return ""
    lines = [style.paint("Processes", "bold")]
    split = split_steps(analysis.phases)
    if split is not None:
        lines.append(
            _wrapped(
                f"env.step {units.seconds(split.step_s)}: workers computing "
                f"{units.seconds(split.computing_s)}, waiting for the slowest "
                f"{units.seconds(split.waiting_s)}, moving data {units.seconds(split.moving_s)}",
                style,
                indent=2,
            )
        )
    for process in analysis.processes[:16]:
        memory = units.megabytes(process.memory_peak_mb) if process.memory_peak_mb else ""
        busy = process.busy_s / process.wall_s if process.wall_s > 0 else 0.0
        ended = "" if process.ended else "  no end (killed, or still running)"
        name = fit(clean(process.name), 24)
        lines.append(
            f"  {name} {units.seconds(process.wall_s):>11}  in phases {units.percent(busy):>6}"
            f"  {memory:>9}{ended}".rstrip()
        )
    if len(analysis.processes) > 16:
        lines.append(f"  … and {len(analysis.processes) - 16} more (--process NAME shows one)")
    return "\n".join(lines)


#: Waiting for a core is worth a word from this share of the loop on.
BUSY_MACHINE = 0.1


def _small_print(analysis: Analysis, style: Style) -> str:
    overhead = analysis.overhead
    lines = [
        f"{units.percent(analysis.coverage)} of the loop is in named phases, "
        f"{units.percent(analysis.unexplained)} unexplained. hotloop's own cost: "
        f"{units.percent(overhead.share)} of the loop "
        f"({units.count(overhead.regions)} regions of {overhead.region_ns:.0f} ns, "
        f"hooks {units.seconds(overhead.hooks_s)}, sampler {units.seconds(overhead.sampler_s)}), "
        "taken out of these figures."
    ]
    waited = (gauge_rise(analysis, "main_delay_s") or 0.0) / max(analysis.run.loop_s, 1e-9)
    if waited > BUSY_MACHINE:
        lines.append(
            f"The main thread stood ready without a core for {min(waited, 1.0):.0%} of the loop: "
            "more was running here than there are cores for, and everything took longer for it."
        )
    if analysis.run.header.get("native") is False:
        why = clean(str(analysis.run.header.get("why_twin") or ""))
        lines.append(f"Measured with the pure-Python twin: {why}.")
    if analysis.run.end is None and analysis.run.header.get("cost") is not None:
        lines.append("The program has not ended, or was killed: figures up to its last window.")
    if analysis.damaged:
        lines.append(f"{analysis.damaged} damaged lines of the capture were skipped.")
    remarks = analysis.notes.get("remarks")
    if isinstance(remarks, list):
        lines += [clean(str(remark)) for remark in remarks]
    failures = analysis.notes.get("failures")
    if isinstance(failures, dict) and failures:
        named = ", ".join(clean(f"{name} ({error})") for name, error in failures.items())
        lines.append(f"Hooks that failed and were switched off: {named}.")
    return "\n".join(_wrapped(line, style, "dim") for line in lines)


def _wrapped(text: str, style: Style, *paint: str, indent: int = 0) -> str:
    from textwrap import fill

    space = " " * indent
    filled = fill(clean(text), style.width, initial_indent=space, subsequent_indent=space)
    return "\n".join(style.paint(line, *paint) for line in filled.splitlines())


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
