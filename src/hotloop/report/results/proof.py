"""The result of `hotloop prove`, as text."""

from __future__ import annotations

import re
import shlex

from hotloop import units
from hotloop.capture.proofs import CEILING, CONFIRMED, FAILED, NOT_TRIED, REFUTED, Proof, TriedFix
from hotloop.report.console.terminal import Style, clean
from hotloop.report.words import gains

_COLORS = {CONFIRMED: "green", CEILING: "cyan", FAILED: "yellow", NOT_TRIED: "yellow"}


def proof_text(proof: Proof, style: Style, capture: str) -> str:
    """Each fix with its measurement, then all of them together."""
    spent = f"{units.seconds(round(proof.spent_s))} of at most {units.seconds(proof.budget_s)}"
    lines = [f"{clean(proof.command)}: pairs of runs{_length(proof)}, interleaved; {spent}", ""]
    for tried in proof.tried:
        lines += _lines(tried, style)
    if proof.together is not None:
        lines += _lines(proof.together, style)
    if not proof.tried:
        lines.append("There are no findings to prove.")
    if any(tried.diff and tried.verdict == CONFIRMED for tried in proof.tried):
        apply = f"hotloop prove --apply {shlex.quote(capture)}"
        lines.append(f"To write the confirmed changes to your files: {apply}")
    return "\n".join(lines) + "\n"


def _length(proof: Proof) -> str:
    """How long each run is: ", 20,725 steps each", ", 8 s each"."""
    found = re.match(r"(\d+)(\w+)", proof.stop_after or "")
    if found is None:
        return ""
    return f", {units.count(int(found[1]))} {found[2]} each"


def _lines(tried: TriedFix, style: Style) -> list[str]:
    head = style.paint(clean(summary(tried)), "bold", _COLORS.get(tried.verdict, "red"))
    lines = [head]
    if tried.how and tried.verdict == CONFIRMED:
        lines.append(f"  {tried.how}")
    if tried.learning and tried.verdict in (CONFIRMED, NOT_TRIED):
        lines.append(f"  Learning: {tried.learning}.")
    lines += [f"  {clean(line.expandtabs(4))}" for line in tried.diff.splitlines()]
    return [*lines, ""]


def summary(tried: TriedFix) -> str:
    """One line about a fix: the measurement, or why there is none."""
    name = f"{tried.finding or 'together'}: {tried.fix}" if tried.fix else tried.finding
    if tried.gain is None or tried.low is None or tried.high is None:
        return f"{name}: {tried.verdict} ({tried.why})"
    measured = gains.measured(tried)
    if tried.verdict == REFUTED:
        measured = f"measured: {measured}"
    if tried.verdict == CEILING:
        return f"{name}: at most {measured}"
    weights = f", {tried.weights}" if tried.weights else ""
    if tried.return_before is not None and tried.return_after is not None:
        weights += f", return {tried.return_before:.4g} → {tried.return_after:.4g}"
    verdict = "" if tried.verdict == CONFIRMED else f"; {tried.verdict}"
    if tried.verdict not in (CONFIRMED, REFUTED):
        verdict += f": {tried.why}"
    return f"{name} → {measured}{weights}{verdict}"
