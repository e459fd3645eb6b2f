"""The page of a comparison: the verdict, every interval, where the time went, run by run."""

from __future__ import annotations

import shlex
from typing import Any

from hotloop.analyze.comparing.compare import Comparison, one_of
from hotloop.analyze.comparing.experiments import PairedResult
from hotloop.analyze.comparing.judgement import Judgement
from hotloop.phases import NO_PHASE, NO_PHASE_LABEL, category_of
from hotloop.report.console.terminal import Style
from hotloop.report.html.page import EXPERIMENT_SCRIPTS, EXPERIMENT_STYLES, shell
from hotloop.report.palette import colors
from hotloop.report.results.comparison import (
    because,
    comparison_document,
    comparison_text,
    headline,
    judgement_document,
    label,
    ratio,
    rows_of,
    small_print,
    work_notes,
)

SCHEMA = "hotloop.compare.page/1"


def render_comparison(comparison: Comparison, result: PairedResult | None = None) -> str:
    """The whole page."""
    text = comparison_text(comparison, Style(width=100), result)
    title = f"{comparison.names[0]} and {comparison.names[1]} · hotloop compare"
    scripts = (*EXPERIMENT_SCRIPTS, "compare.js")
    return shell(title, page_data(comparison, result), scripts, text, styles=EXPERIMENT_STYLES)


def page_data(comparison: Comparison, result: PairedResult | None = None) -> dict[str, Any]:
    """What the page shows, as plain data."""
    return {
        **comparison_document(comparison, result),
        **shown(comparison),
        "schema": SCHEMA,
        "to_open": _command_to_open(comparison, result),
        "small_print": small_print(comparison, result),
        "colors": colors([category for _, category, *_ in _parts(comparison)]),
    }


def _command_to_open(comparison: Comparison, result: PairedResult | None) -> str | None:
    """The command that opens one of the runs."""
    if result is None or not comparison.pairs:
        return None
    return f"hotloop report {shlex.quote(result.folder)}/pair-01/b"


def shown(comparison: Comparison) -> dict[str, Any]:
    """The parts that a comparison has wherever it is shown, also inside an investigation."""
    return {
        "names": list(comparison.names),
        "headline": headline(comparison),
        "because": because(comparison),
        "work_notes": work_notes(comparison),
        "step": one_of(comparison.unit),
        "margin": comparison.margin,
        "rows": [_row(text, judgement) for text, judgement in rows_of(comparison)],
        "parts": _parts(comparison),
        "whole_s": [comparison.whole.first, comparison.whole.second],
    }


def _row(text: str, judgement: Judgement) -> dict[str, Any]:
    return {"label": text, "text": ratio(judgement), **judgement_document(judgement)}


def _parts(comparison: Comparison) -> list[list[Any]]:
    """The parts of a step: a phase's label and category, and its own time on both sides."""
    return [
        [label(phase.name), part_category(phase.name), phase.own.first or 0, phase.own.second or 0]
        for phase in comparison.phases
    ]


def part_category(name: str) -> str:
    """The category of a phase, or of the time in none."""
    return NO_PHASE_LABEL if name == NO_PHASE else category_of(name)
