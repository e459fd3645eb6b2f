"""An investigation for people (text, and a Markdown record to keep) and for programs (JSON)."""

from __future__ import annotations

from typing import Any

from hotloop import units
from hotloop.analyze.comparing.compare import one_of
from hotloop.analyze.comparing.experiments import Investigation, Tried
from hotloop.analyze.comparing.hypothesis import CEILING, CONFIRMED, FAILED, REFUTED, UNKNOWN
from hotloop.analyze.comparing.judgement import finite
from hotloop.phases import NO_PHASE_LABEL
from hotloop.report.console.terminal import Style, beside, clean, columns, fit, joined, paragraphs
from hotloop.report.markdown import code, escape, markdown_table
from hotloop.report.plain_data import interval_document
from hotloop.report.results.comparison import comparison_document, ratio

SCHEMA = "hotloop.investigate/1"

_COLORS = {
    CONFIRMED: "green",
    REFUTED: "red",
    UNKNOWN: "yellow",
    FAILED: "yellow",
    CEILING: "cyan",
}


def measured_in_words(tried: Tried) -> str:
    """The measurement: a gain with its interval, or the slope of a delay."""
    if tried.comparison is not None and tried.comparison.whole.estimate is not None:
        return ratio(tried.comparison.whole, unit="x")
    measured = tried.finding.measured
    if measured is None:
        return ""
    return f"slope {measured.estimate:.2f} ({measured.low:.2f} to {measured.high:.2f})"


def verdict_in_words(tried: Tried) -> str:
    """The verdict with its reason."""
    why = clean(tried.finding.why)
    return f"{tried.finding.verdict} ({why})" if why else tried.finding.verdict


def goal_in_words(investigation: Investigation) -> list[str]:
    """A sentence for each part of the goal."""
    sentences = []
    for name, goal, met in (
        ("minimum", investigation.minimum_goal, investigation.minimum),
        ("stretch", investigation.stretch_goal, investigation.stretch),
    ):
        if goal is not None and met is not None:
            sentences.append(f"The {name} goal of {goal:g}x: {met}.")
    return sentences


def together_in_words(investigation: Investigation) -> str:
    """The combined result of the confirmed changes."""
    names = units.listing(clean(name) for name in investigation.combined_of)
    if not investigation.combined_of:
        return "No change that you could keep was confirmed."
    if investigation.combined is None:
        return f"Confirmed: {names}. They were not tried together."
    whole = ratio(investigation.combined.whole)
    what = "Together, " if len(investigation.combined_of) > 1 else ""
    return f"{what}{names}: {whole} times faster than the baseline."


# -- text --


def investigation_text(investigation: Investigation, style: Style) -> str:
    """The whole investigation, as text."""
    head = style.paint("hotloop investigate", "bold", "cyan") + f"  {clean(investigation.baseline)}"
    rows = [["hypothesis", "expected", "measured"]]
    for tried in investigation.tried:
        name = fit(clean(tried.hypothesis.name), style.width // 3).rstrip()
        rows.append([name, clean(tried.hypothesis.expected_text), measured_in_words(tried)])
    titles, *cells = columns(rows, "<<<")
    lines = [style.paint(titles + "  verdict", "dim")]
    for line, tried in zip(cells, investigation.tried, strict=True):
        color = _COLORS[tried.finding.verdict]
        lines.append(beside(line + "  ", verdict_in_words(tried), style, color))
    blocks = [head, "\n".join(line.rstrip() for line in lines)]
    end = [together_in_words(investigation), *goal_in_words(investigation)]
    blocks.append(paragraphs(end, style, "bold"))
    blocks.append(paragraphs(small_print(investigation), style, "dim"))
    return joined(blocks)


def small_print(investigation: Investigation) -> list[str]:
    """Omissions, changes of the training, and whether the plan was completed."""
    lines = [f"Left out: {clean(n)} ({why})." for n, why in investigation.left_out.items()]
    lines += _warnings(investigation)
    if investigation.interrupted:
        lines.append("Interrupted; --resume continues from there.")
    if investigation.failure is not None:
        lines.append(f"Ended early: {investigation.failure}")
    return lines


def _warnings(investigation: Investigation) -> list[str]:
    found = []
    for tried in investigation.tried:
        if tried.hypothesis.is_experiment:
            found.append(
                f"{clean(tried.hypothesis.name)} changes the training: an experiment, not a fix."
            )
        elif tried.comparison is not None:
            for change in tried.comparison.work:
                if change.matters:
                    per = f"{change.counter.replace('_', ' ')} per {one_of(tried.comparison.unit)}"
                    amounts = f"{change.first:.4g} to {change.second:.4g}"
                    found.append(
                        f"{clean(tried.hypothesis.name)} changes the work: {per} {amounts}."
                    )
    return found


# -- Markdown --


def investigation_markdown(investigation: Investigation, date: str, machine: str) -> str:
    """A record that a team can keep."""
    lines = [
        f"# Investigation of {code(investigation.baseline)}",
        "",
        f"{date}, on {escape(machine)}. "
        + (f"Each run ends after {investigation.stop_after}. " if investigation.stop_after else "")
        + "Runs are interleaved pairs; gains are in time per step, with intervals; the "
        "verdicts on a hypothesis, taken together, are wrong at most 1 time in 20.",
        "",
        "## Result",
        "",
        *_baseline(investigation),
        f"- {escape(together_in_words(investigation))}",
        *[f"- {escape(sentence)}" for sentence in goal_in_words(investigation)],
        "",
        "## Hypotheses",
        "",
        markdown_table(
            ["hypothesis", "expected", "confidence", "measured", "pairs", "verdict"],
            [_row(tried) for tried in investigation.tried],
            numbers_from=6,
        ),
    ]
    for tried in investigation.tried:
        lines += ["", *_details(tried)]
    notes = _warnings(investigation)
    notes += [
        f"{n} is left out of the combination: {w}." for n, w in investigation.left_out.items()
    ]
    if investigation.interrupted:
        notes.append("The investigation was interrupted; `--resume` continues it.")
    if notes:
        lines += ["", "## Notes", "", *[f"- {escape(note)}" for note in notes]]
    return "\n".join(lines) + "\n"


def _row(tried: Tried) -> list[str]:
    hypothesis = tried.hypothesis
    pairs = tried.comparison.pairs if tried.comparison else len(tried.slopes)
    cells = [hypothesis.name, hypothesis.expected_text, hypothesis.confidence]
    cells += [measured_in_words(tried), str(pairs or ""), verdict_in_words(tried)]
    return [escape(cell) for cell in cells]


def _baseline(investigation: Investigation) -> list[str]:
    seconds, rate = investigation.baseline_s, investigation.baseline_rate
    if not seconds or rate is None:
        return []
    step = one_of(investigation.unit)
    return [f"- Baseline: {units.seconds(seconds)} per {step}, {units.rate(rate)} per second."]


def _details(tried: Tried) -> list[str]:
    hypothesis = tried.hypothesis
    lines = [
        f"### {escape(hypothesis.name)}: {tried.finding.verdict}",
        "",
        escape(hypothesis.claim),
        "",
        f"Change: {code(hypothesis.change)}",
    ]
    comparison = tried.comparison
    if comparison is None or not comparison.phases:
        return lines
    judged = [("whole", comparison.whole)]
    judged += [(p.name or NO_PHASE_LABEL, p.own) for p in comparison.phases if not p.own.why]
    rows = [
        [escape(name), *(units.seconds(s or 0.0) for s in (each.first, each.second)), ratio(each)]
        for name, each in judged
    ]
    head = [f"per {one_of(comparison.unit)}", "baseline", "changed", "times faster"]
    return [*lines, "", markdown_table(head, rows)]


# -- JSON --


def investigation_document(investigation: Investigation) -> dict[str, Any]:
    """The whole investigation as plain data; fields may be added, never renamed."""
    return {
        "schema": SCHEMA,
        "baseline": investigation.baseline,
        "baseline_s": investigation.baseline_s,
        "unit": investigation.unit,
        "stop_after": investigation.stop_after,
        "goal": {
            "minimum": investigation.minimum_goal,
            "stretch": investigation.stretch_goal,
            "minimum_met": investigation.minimum,
            "stretch_met": investigation.stretch,
        },
        "hypotheses": [_tried(tried) for tried in investigation.tried],
        "together": {
            "of": investigation.combined_of,
            "left_out": investigation.left_out,
            "comparison": comparison_document(investigation.combined)
            if investigation.combined
            else None,
        },
        "interrupted": investigation.interrupted,
        "failure": investigation.failure,
        "folder": investigation.folder,
    }


def _tried(tried: Tried) -> dict[str, Any]:
    hypothesis, measured = tried.hypothesis, tried.finding.measured
    return {
        "name": hypothesis.name,
        "claim": hypothesis.claim,
        "change": hypothesis.change,
        "changes_training": hypothesis.is_experiment,
        "expected": {
            "text": hypothesis.expected_text,
            "low": hypothesis.expected.low,
            "high": finite(hypothesis.expected.high),
        },
        "confidence": hypothesis.confidence,
        "verdict": tried.finding.verdict,
        "why": tried.finding.why,
        "measured": interval_document(measured) if measured else None,
        "comparison": comparison_document(tried.comparison) if tried.comparison else None,
        "slopes": tried.slopes,
    }
