"""The doctor's checks for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hotloop import units
from hotloop.analyze.doctor import OK, PROBLEM, Check, Survey
from hotloop.report.console.terminal import Style, wrapped

SCHEMA = "hotloop.doctor/1"


def doctor_text(checks: list[Check], style: Style) -> str:
    """One sentence per check, each problem followed by its remedy."""
    lines = []
    for check in checks:
        mark, color = _mark(check, style)
        body = wrapped(check.text, style, indent=2)
        lines.append(style.paint(mark, "bold", color) + " " + body.lstrip())
        if check.remedy:
            lines.append(wrapped("→ " * style.unicode + check.remedy, style, indent=4))
    problems = sum(check.state == PROBLEM for check in checks)
    lines.append("")
    if problems:
        found = units.plural(problems, "problem")
        lines.append(style.paint(f"{found} found.", "bold", "red"))
    elif any(check.unfinished for check in checks):
        said = "No problems found in what was checked; the rest needs more time."
        lines.append(style.paint(said, "bold", "yellow"))
    else:
        lines.append(style.paint("No problems found.", "bold", "green"))
    lines.append("Next: hotloop run train.py")
    return "\n".join(lines)


def _mark(check: Check, style: Style) -> tuple[str, str]:
    if check.state == PROBLEM:
        return ("✗" if style.unicode else "x"), "red"
    if check.state == OK:
        return ("✓" if style.unicode else "+"), "green"
    return ("·" if style.unicode else "-"), "cyan"


def doctor_document(survey: Survey, checks: list[Check], wrong: bool) -> dict[str, Any]:
    """The same as plain data."""
    machine = asdict(survey)
    machine["hooks"] = {title: use.raw for title, use in survey.hooks.items()}
    return {
        "schema": SCHEMA,
        "ok": not wrong,
        "checks": [asdict(check) for check in checks],
        "machine": machine,
    }
