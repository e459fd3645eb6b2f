"""One finding on a terminal: the gain, the source lines, the fix and the command that checks it."""

from __future__ import annotations

import shlex

from hotloop.diagnose.finding import Finding
from hotloop.diagnose.naming import without_comprehensions
from hotloop.diagnose.proven import is_refuted
from hotloop.diagnose.verdict import Verdict
from hotloop.report.console.terminal import Style, clean, fit, wrapped
from hotloop.report.words.gains import promised, proven
from hotloop.report.words.paths import place_of


def finding_text(finding: Finding, verdict: Verdict, style: Style) -> str:
    color = {"critical": "red", "warning": "yellow", "healthy": "green"}.get(
        finding.severity, "cyan"
    )
    level = "REFUTED" if is_refuted(finding) else finding.severity.upper()
    head = style.paint(f"{level} {finding.id}", "bold", color)
    gain = promised(finding)
    sure = "" if finding.measured_gain else f" ({finding.confidence} confidence)"
    said = f"{gain}{sure}" if gain else ""
    fits = len(f"{level} {finding.id}  {said}") <= style.width
    lines = [f"{head}  {said}".rstrip()] if fits else [head, f"  {said}"]
    if proof := proven(finding):
        lines.append(wrapped(clean(proof), style, indent=2))
    # Do not repeat a title that is already the verdict above.
    if finding.title.rstrip(".") not in verdict.sentence:
        lines.append(wrapped(finding.title, style, indent=2))
    for place in finding.where[:3]:
        name = clean(f"{place_of(place)} {without_comprehensions(place.function)}")
        shown = fit(name, style.width - 5).rstrip()
        lines.append("  at " + style.link(shown, place.file))
    lines.append(wrapped(finding.fix, style, indent=2))
    lines += _change(finding)
    if finding.learning:
        lines.append(wrapped(f"Learning: {finding.learning}", style, indent=2))
    if finding.verify:
        lines.append(_command(clean(finding.verify), style))
    return "\n".join(lines)


def _change(finding: Finding) -> list[str]:
    """The change in the user's own lines, or an example that is marked as one."""
    if finding.patch:
        # The file is named above, and the hunks have the lines.
        return [
            f"    {clean(line.expandtabs(4))}".rstrip() for line in finding.patch.splitlines()[2:]
        ]
    example = [f"    {clean(line)}" for line in finding.example]
    return ["  An example (not your code):", *example] if example else []


def _command(command: str, style: Style) -> str:
    """A command to be pasted: never truncated, continued on the next line if it is too long."""
    command, _, comment = command.partition("  # ")
    if comment:
        # Before the command, because it has to be done first.
        return wrapped(f"# {comment}", style, indent=2) + "\n" + _command(command, style)
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
