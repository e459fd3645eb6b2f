"""The report for an issue or a wiki: Markdown that shows the same on every site.

Everything from a program is escaped: a name can neither end a table's cell nor become a link.
"""

from __future__ import annotations

import re

from hotloop.analyze.functions import short_file
from hotloop.analyze.model import Analysis, Phase
from hotloop.diagnose.advice import recommendations, summary
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.verdict import verdict
from hotloop.report import units
from hotloop.report.document import categories
from hotloop.report.output import Material
from hotloop.report.terminal import clean

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")
#: What would become an element, a mention of somebody, or a link.
_ENTITIES = (
    ("&", "&amp;"),
    ("<", "&lt;"),
    ("@", "&#64;"),
    ("://", "&#58;//"),
    ("www.", "www&#46;"),
)
#: Below this share of the loop a row says nothing that helps.
_SMALLEST_SHARE = 0.001

_SIGNS = {"critical": "🔴", "warning": "🟠", "info": "🔵", "healthy": "🟢"}


def render(material: Material) -> str:
    """The whole report."""
    analysis, findings = material.analysis, material.findings
    blocks = [
        f"# {escape(verdict(analysis, findings))}",
        _headline(analysis),
        _in_short(analysis, findings),
        *[_finding(finding) for finding in findings],
        _categories(analysis),
        _phases(analysis),
        _functions(analysis, material.view.top),
        _processes(analysis),
        _machine(analysis),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escape(text: str) -> str:
    """Text that Markdown and HTML take as it is."""
    text = _SPECIAL.sub(r"\\\1", clean(text))
    for special, entity in _ENTITIES:
        text = text.replace(special, entity)
    return text


def code(text: str) -> str:
    """Text as code. A backtick in it would end the code, so it becomes an apostrophe."""
    text = clean(text).replace("`", "'").replace("|", "\\|")
    return f"`{text}`" if text.strip() else ""


def prose(text: str) -> str:
    """Advice, in which code stands between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(code(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def _headline(analysis: Analysis) -> str:
    run = analysis.run
    parts = [f"training loop {units.seconds(run.loop_s)} of {units.seconds(run.wall_s)}"]
    if run.env_steps:
        parts.append(f"**{units.rate(run.steps_per_s)} steps/s**")
        parts.append(f"{units.count(run.env_steps)} steps")
    if run.counters.get("gradient_steps"):
        parts.append(f"{units.count(run.counters['gradient_steps'])} gradient steps")
    if run.memory_peak_mb:
        parts.append(f"peak memory {units.megabytes(run.memory_peak_mb)}")
    parts.append(escape(run.device))
    if run.processes > 1:
        parts.append(f"{run.processes} processes")
    return f"{code(' '.join(run.command))}\n\n{' · '.join(parts)}"


def _in_short(analysis: Analysis, findings: list[Finding]) -> str:
    """The page that is read if only one is: what it was, and what to do, in order."""
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
    gain = f"{finding.gain.low:.2g} to {finding.gain.high:.2g} times faster"
    about = [code(finding.id)]
    if finding.severity != "healthy":
        about.append(f"**{gain}** ({escape(finding.confidence)} confidence)")
    lines.append(" · ".join(about))
    if finding.where:
        places = [
            f"{code(f'{short_file(p.file)}:{p.line}')} in {code(p.function)}"
            for p in finding.where[:3]
        ]
        lines.append("At " + ", ".join(places) + ".")
    lines += [prose(text) for text in (finding.fix, finding.learning) if text]
    for title, source in (("Now", finding.before), ("Instead", finding.after)):
        if source:
            lines.append(f"{title}:\n\n{_indented(source)}")
    if finding.evidence:
        lines.append(
            "\n".join(
                f"- {escape(name.replace('_', ' '))}: {escape(_value(value))}"
                for name, value in finding.evidence.items()
            )
        )
    if finding.verify:
        lines.append(f"To check it:\n\n{_indented(finding.verify)}")
    return "\n\n".join(lines)


def _indented(source: str) -> str:
    """A block of code that nothing in it can end."""
    return "\n".join("    " + clean(line) for line in source.splitlines())


def _value(value: object) -> str:
    if isinstance(value, list):
        return " to ".join(map(_value, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _categories(analysis: Analysis) -> str:
    shares = [(name, share) for name, share in categories(analysis).items() if share >= 0.001]
    if not shares:
        return ""
    listed = ", ".join(f"{escape(name)} {units.percent(share)}" for name, share in shares)
    return f"## Where the loop went\n\n{listed}."


def _phases(analysis: Analysis) -> str:
    shown = [
        p
        for p in analysis.phases
        if p.process == "main" and (p.share >= _SMALLEST_SHARE or p.self_s >= 0.001)
    ]
    if not shown:
        return ""
    steps = analysis.run.env_steps
    head = ["phase", "share", "total", "own", *(["per step"] if steps else [])]
    head += ["calls", "mean", "p50", "p95", "p99", "max", ""]
    rows = [_phase_row(phase, steps) for phase in shown]
    if analysis.run.loop_s > 0 and analysis.outside_s / analysis.run.loop_s >= _SMALLEST_SHARE:
        share = units.percent(analysis.outside_s / analysis.run.loop_s)
        row = ["(in no phase)", share, "", units.seconds(analysis.outside_s)]
        rows.append([*row, *[""] * (len(head) - len(row))])
    return _table(head, rows)


def _phase_row(phase: Phase, steps: int) -> list[str]:
    name = "&nbsp;&nbsp;" * phase.depth + escape(phase.name)
    if phase.thread != "main":
        name += f" \\[{escape(phase.thread)}\\]"
    times = (phase.mean_s, phase.p50_s, phase.p95_s, phase.p99_s, phase.max_s)
    return [
        name,
        units.percent(phase.share),
        units.seconds(phase.total_s),
        units.seconds(phase.self_s),
        *([units.seconds(phase.total_s / steps)] if steps else []),
        units.count(phase.calls) if phase.calls else "",
        *(units.seconds(value) if phase.calls else "" for value in times),
        " ".join(phase.marks),
    ]


def _functions(analysis: Analysis, top: int) -> str:
    functions = [f for f in analysis.functions if f.share >= 0.005][:top]
    if not functions:
        return ""
    rows = [
        [
            code(f.function),
            code(f"{short_file(f.file)}:{f.hot_line}"),
            escape(f.phase.rpartition("/")[2]) or "(in no phase)",
            units.percent(f.share),
            units.seconds(f.self_s),
            _how(f.python_share, f.native_share, f.waiting_share),
        ]
        for f in functions
    ]
    head = ["function", "line", "in", "share", "own", "how"]
    return "## Hot functions (sampled)\n\n" + _table(head, rows, numbers_from=3)


def _how(python: float, native: float, waiting: float) -> str:
    share, word = max((python, "Python"), (native, "native"), (waiting, "waiting"))
    return f"{word} {share:.0%}" if share > 0 else ""


def _processes(analysis: Analysis) -> str:
    if len(analysis.processes) < 2:
        return ""
    rows = [
        [
            escape(p.name),
            units.seconds(p.wall_s),
            units.percent(p.busy_s / p.wall_s if p.wall_s > 0 else 0.0),
            units.megabytes(p.memory_peak_mb) if p.memory_peak_mb else "",
        ]
        for p in analysis.processes[:32]
    ]
    table = _table(["process", "time", "in phases", "peak memory"], rows)
    more = len(analysis.processes) - len(rows)
    return "## Processes\n\n" + table + (f"\n\n… and {more} more." if more else "")


def _machine(analysis: Analysis) -> str:
    header = analysis.run.header
    overhead = analysis.overhead
    parts = [f"Python {header.get('python')}", str(header.get("platform") or "")]
    libraries = analysis.notes.get("libraries")
    if isinstance(libraries, dict):
        parts += [f"{name} {_version(value)}" for name, value in libraries.items()]
    parts.append(f"hotloop {header.get('version')}")
    known = " · ".join(escape(part) for part in parts if part.strip())
    return (
        f"{known}\n\n{units.percent(analysis.coverage)} of the loop is in named phases, "
        f"{units.percent(analysis.unexplained)} unexplained. hotloop's own cost, "
        f"{units.percent(overhead.share)} of the loop, is taken out of these figures."
    )


def _version(value: object) -> str:
    return str(value.get("version", "")) if isinstance(value, dict) else str(value)


def _table(head: list[str], rows: list[list[str]], numbers_from: int = 1) -> str:
    align = ["---:" if i >= numbers_from and title else "---" for i, title in enumerate(head)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, align, *rows])
