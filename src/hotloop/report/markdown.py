"""The report for an issue or a wiki: Markdown that shows the same on every site.

All text from a program is escaped: a name can neither end a table's cell nor become a link.
"""

from __future__ import annotations

import re

from hotloop import units
from hotloop.analyze.accounting import outside_share
from hotloop.analyze.kind import span_of
from hotloop.analyze.model import Analysis, Function, Phase
from hotloop.analyze.processes.process_groups import groups
from hotloop.analyze.run import Run
from hotloop.diagnose.advice import recommendations, summary
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.proven import is_refuted
from hotloop.diagnose.verdict import starvation_of
from hotloop.phases import NO_PHASE_LABEL, name_at
from hotloop.report import one_process
from hotloop.report.console.device_text import bound_line, limits_in_words
from hotloop.report.console.run_table import TITLE, line_of, shown_rows, who
from hotloop.report.console.terminal import clean, joined
from hotloop.report.document import Report
from hotloop.report.view import DEFAULT_VIEW, View
from hotloop.report.words.evidence import evidence_in_words
from hotloop.report.words.gains import promised, proven
from hotloop.report.words.headline import headline_parts, optimizer_line
from hotloop.report.words.paths import place_of
from hotloop.report.words.sampled import (
    functions_of,
    place_words,
    states_words,
    thread_functions_of,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")
#: Text that would become an element, a mention of a user, or a link.
_ENTITIES = (
    ("&", "&amp;"),
    ("<", "&lt;"),
    ("@", "&#64;"),
    ("://", "&#58;//"),
    ("www.", "www&#46;"),
)
#: Rows below this share of the loop are left out.
_SMALLEST_SHARE = 0.001
#: Limits of a process, the largest shares; and functions of each process but the main one.
_MOST_LIMITS = 3
_FEW_FUNCTIONS = 5

_SIGNS = {"critical": "🔴", "warning": "🟠", "info": "🔵", "healthy": "🟢"}


def render(report: Report, view: View = DEFAULT_VIEW) -> str:
    """The whole report."""
    analysis, findings = report.analysis, report.findings
    if one_process.is_selected(view):
        return _process_report(analysis, view)
    blocks = [
        _starved(report.verdict.starvation),
        f"# {prose(report.verdict.headline)}",
        prose(" ".join([*filter(None, [report.ending]), *report.verdict.details])),
        _headline(analysis),
        _in_short(analysis, findings),
        *[_finding(finding) for finding in findings],
        _categories(report),
        _phases(analysis, "main"),
        prose(optimizer_line(analysis)),
        _run_table(analysis),
        _functions(analysis, view.top),
        _processes(analysis),
        _machine(report),
    ]
    return joined(blocks)


def _starved(sentence: str) -> str:
    return f"**{prose(sentence)}**" if sentence else ""


def _process_report(analysis: Analysis, view: View) -> str:
    """A process other than the main one: its phases, limits and functions."""
    known = functions_of(analysis, [view.process])
    blocks = [
        _starved(starvation_of(analysis, view.process)),
        f"# {prose(one_process.headline(analysis, view.process))}",
        prose(bound_line(analysis, view.process)),
        _phases(analysis, view.process),
        f"## Hot functions (sampled)\n\n{_function_table(known[: view.top])}" if known else "",
    ]
    return joined(blocks)


def escape(text: str) -> str:
    """Text escaped for Markdown and HTML."""
    text = _SPECIAL.sub(r"\\\1", clean(text))
    for special, entity in _ENTITIES:
        text = text.replace(special, entity)
    return text


def code(text: str) -> str:
    """Text as code. A backtick in it would end the code, so it becomes an apostrophe."""
    text = clean(text).replace("`", "'").replace("|", "\\|")
    return f"`{text}`" if text.strip() else ""


def prose(text: str) -> str:
    """Advice with code between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(code(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def _headline(analysis: Analysis) -> str:
    parts = " · ".join(map(escape, headline_parts(analysis)))
    return f"{code(' '.join(analysis.run.command))}\n\n{parts}"


def _in_short(analysis: Analysis, findings: list[Finding]) -> str:
    """The summary of the run and the recommendations, in order."""
    said = [f"- {escape(line)}" for line in summary(analysis)]
    advised = [
        f"{number}. {prose(line)}"
        for number, line in enumerate(recommendations(analysis, findings), 1)
    ]
    parts = []
    if said:
        parts.append("## Summary\n\n" + "\n".join(said))
    if advised:
        parts.append("## Recommendations\n\n" + "\n".join(advised))
    return "\n\n".join(parts)


def _finding(finding: Finding) -> str:
    sign = _SIGNS.get(finding.severity, "")
    lines = [f"## {sign} {escape(finding.title)}".replace("  ", " ")]
    about = [code(finding.id)]
    if promise := promised(finding):
        sure = "" if finding.measured_gain else f" ({escape(finding.confidence)} confidence)"
        about.append(f"**{promise}**{sure}")
    if is_refuted(finding):
        about.append("**refuted**")
    lines.append(" · ".join(about))
    if finding.where:
        places = [f"{code(place_of(p))} in {code(p.function)}" for p in finding.where[:3]]
        lines.append("At " + ", ".join(places) + ".")
    lines += [prose(text) for text in (proven(finding), finding.fix, finding.learning) if text]
    if finding.patch:
        lines.append(f"The change:\n\n{_indented(finding.patch)}")
    else:
        for title, source in (("An example", finding.before), ("Instead", finding.after)):
            if source:
                lines.append(f"{title}:\n\n{_indented(source)}")
    evidence = evidence_in_words(finding)
    if evidence:
        lines.append("\n".join(f"- {escape(label)}: {escape(text)}" for label, text in evidence))
    if finding.verify:
        lines.append(f"To check it:\n\n{_indented(finding.verify)}")
    return "\n\n".join(lines)


def _indented(source: str) -> str:
    """A code block with a fence that its text cannot end."""
    return "\n".join("    " + clean(line) for line in source.splitlines())


def _categories(report: Report) -> str:
    shares = [(name, share) for name, share in report.categories.items() if share >= 0.001]
    if not shares:
        return ""
    listed = ", ".join(f"{escape(name)} {units.percent(share)}" for name, share in shares)
    return f"## Where the loop went\n\n{listed}."


def _phases(analysis: Analysis, process: str) -> str:
    shown = [
        p
        for p in analysis.phases
        if p.process == process and (p.share >= _SMALLEST_SHARE or p.self_s >= 0.001)
    ]
    if not shown:
        return ""
    steps = analysis.run.env_steps
    head = ["phase", "share", "total", "own", *(["per step"] if steps else [])]
    head += ["calls", "mean", "p50", "p95", "p99", "max"]
    rows = [_phase_row(phase, analysis.run) for phase in shown]
    outside = outside_share(analysis) if process == "main" else 0.0
    if outside >= _SMALLEST_SHARE:
        row = [NO_PHASE_LABEL, units.percent(outside), "", units.seconds(analysis.outside_s)]
        rows.append([*row, *[""] * (len(head) - len(row))])
    return markdown_table(head, rows)


def _phase_row(phase: Phase, run: Run) -> list[str]:
    name = "&nbsp;&nbsp;" * phase.depth + escape(phase.name)
    if phase.thread != "main":
        name += f" \\[{escape(phase.thread)}\\]"
    step_s = run.per_step(phase.total_s)
    times = (phase.mean_s, phase.p50_s, phase.p95_s, phase.p99_s, phase.max_s)
    return [
        name,
        units.percent(phase.share),
        units.seconds(phase.total_s),
        units.seconds(phase.self_s),
        *([units.seconds(step_s)] if step_s is not None else []),
        units.count(phase.calls) if phase.calls else "",
        *(units.seconds(value) if phase.calls else "" for value in times),
    ]


def _functions(analysis: Analysis, top: int) -> str:
    blocks = []
    for group, processes in groups(analysis).items():
        known = functions_of(analysis, processes)
        most = top if group == "main" else min(top, _FEW_FUNCTIONS)
        if known:
            title = "" if group == "main" else f" of {escape(group)}"
            blocks.append(f"## Hot functions{title} (sampled)\n\n{_function_table(known[:most])}")
    known = thread_functions_of(analysis)
    if known:
        title = "## Hot functions of other threads, by the time they ran (sampled)"
        blocks.append(f"{title}\n\n{_function_table(known[:_FEW_FUNCTIONS])}")
    return "\n\n".join(blocks)


def _function_table(functions: list[Function]) -> str:
    rows = [
        [
            code(f.function),
            code(place_words(f)),
            escape(name_at(f.phase)) or NO_PHASE_LABEL,
            units.percent(f.share),
            units.seconds(f.self_s),
            states_words(f),
        ]
        for f in functions
    ]
    return markdown_table(["function", "line", "in", "share", "own", "how"], rows, numbers_from=3)


def _processes(analysis: Analysis) -> str:
    if len(analysis.processes) < 2:
        return ""
    rows = [
        [
            escape(analysis.name_of(p.name)),
            units.seconds(p.wall_s),
            units.percent(p.busy_share),
            units.megabytes(p.memory_peak_mb) if p.memory_peak_mb else "",
            ", ".join(limits_in_words(analysis, p.name)[:_MOST_LIMITS]),
        ]
        for p in analysis.processes[:32]
    ]
    table = markdown_table(["process", "time", "in phases", "peak memory", "limited by"], rows)
    more = len(analysis.processes) - len(rows)
    return "## Processes\n\n" + table + (f"\n\n… and {more} more." if more else "")


def _run_table(analysis: Analysis) -> str:
    rows = [
        [
            escape(row.label),
            escape(who(analysis, row)),
            escape(row.kind),
            code(line_of(row)) if row.file else "",
            units.percent(row.share),
            units.seconds(row.seconds),
        ]
        for row in shown_rows(analysis)
    ]
    if not rows:
        return ""
    head = ["phase", "process", "kind", "most of it at", "share", "time"]
    return f"## {TITLE}\n\n" + markdown_table(head, rows, numbers_from=4)


def _machine(report: Report) -> str:
    analysis, shares = report.analysis, report.accounting
    header = analysis.run.header
    overhead = analysis.overhead
    parts = [f"Python {header.python}", header.platform or ""]
    libraries = analysis.notes.libraries
    # Parts of Python have no version of their own.
    versions = {title: use.version for title, use in libraries.items()}
    parts += [f"{title} {v}" for title, v in versions.items() if v and v != "unknown"]
    parts.append(f"hotloop {header.version}")
    known = " · ".join(escape(part) for part in parts if part.strip())
    return (
        f"{known}\n\nOf the {span_of(analysis)}, {units.percent(shares.explained)} is explained, "
        f"{units.percent(shares.inferred)} inferred and {units.percent(shares.unexplained)} "
        f"unexplained. hotloop's own cost, {units.percent(overhead.share)} of the loop, is "
        "excluded from these figures."
    )


def markdown_table(head: list[str], rows: list[list[str]], numbers_from: int = 1) -> str:
    """A table whose columns of numbers are aligned on the right."""
    align = ["---:" if i >= numbers_from and title else "---" for i, title in enumerate(head)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, align, *rows])
