"""The page of an investigation: the goal, every claim beside what was measured, and why."""

from __future__ import annotations

from typing import Any

from hotloop.analyze.comparing.experiments import Investigation, Tried
from hotloop.report.console.terminal import Style
from hotloop.report.html.page import EXPERIMENT_SCRIPTS, EXPERIMENT_STYLES, shell
from hotloop.report.palette import colors
from hotloop.report.results.comparison import ratio
from hotloop.report.results.comparison_page import shown
from hotloop.report.results.investigation import (
    goal_in_words,
    investigation_document,
    investigation_text,
    measured_in_words,
    small_print,
    together_in_words,
    verdict_in_words,
)

SCHEMA = "hotloop.investigate.page/1"


def render_investigation(investigation: Investigation) -> str:
    """The whole page."""
    text = investigation_text(investigation, Style(width=100))
    title = f"{investigation.baseline} · hotloop investigate"
    scripts = (*EXPERIMENT_SCRIPTS, "investigate.js")
    data = page_data(investigation)
    return shell(title, data, scripts, text, styles=EXPERIMENT_STYLES)


def page_data(investigation: Investigation) -> dict[str, Any]:
    """What the page shows, as plain data."""
    document = investigation_document(investigation)
    combined = investigation.combined
    hypotheses = [
        {**each, **_tried(tried)}
        for each, tried in zip(document["hypotheses"], investigation.tried, strict=True)
    ]
    categories = {
        category
        for each in [*hypotheses, {"comparison": shown(combined) if combined else None}]
        if each["comparison"]
        for _, category, *_ in each["comparison"]["parts"]
    }
    return {
        **document,
        "schema": SCHEMA,
        "to_open": f"{investigation.folder}/record.md",
        "headline": together_in_words(investigation),
        "goal_sentences": goal_in_words(investigation),
        "small_print": small_print(investigation),
        "hypotheses": hypotheses,
        "together": {
            **document["together"],
            "comparison": shown(combined) if combined else None,
            "text": ratio(combined.whole) if combined else None,
        },
        "colors": colors(sorted(categories)),
    }


def _tried(tried: Tried) -> dict[str, Any]:
    comparison = tried.comparison
    return {
        "measured_text": measured_in_words(tried),
        "verdict_text": verdict_in_words(tried),
        "is_slope": tried.hypothesis.is_delay,
        "pairs": comparison.pairs if comparison else len(tried.slopes),
        "comparison": shown(comparison) if comparison else None,
    }
