"""Which renderer writes the result of an experiment, by its kind and the format."""

from __future__ import annotations

import json
import platform
import time

from hotloop.analyze.compare import Comparison
from hotloop.analyze.experiments import Investigation, PairedResult, Result, Sweep
from hotloop.errors import HotloopError
from hotloop.report import comparison, investigation, sweep
from hotloop.report.terminal import Style

PICTURES = ("png", "svg")


def headline(result: Result | Comparison) -> str:
    """The result in one sentence."""
    if isinstance(result, (PairedResult, Comparison)):
        return comparison.headline(_sides(result)[0])
    if isinstance(result, Sweep):
        return sweep.headline(result)
    return investigation.together_in_words(result)


def render(result: Result | Comparison, form: str, style: Style) -> str | bytes:
    """A result in that format: text, json, html, png, svg; of an investigation also markdown."""
    if isinstance(result, (PairedResult, Comparison)):
        return _comparison(*_sides(result), form, style)
    if isinstance(result, Sweep):
        return _sweep(result, form, style)
    return _investigation(result, form, style)


def record(result: Investigation) -> str:
    """The Markdown record of an investigation, dated today."""
    machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    return investigation.investigation_markdown(result, time.strftime("%Y-%m-%d"), machine)


def _sides(result: PairedResult | Comparison) -> tuple[Comparison, PairedResult | None]:
    """A comparison, and what happened around its runs; captures that were compared have none."""
    return (result, None) if isinstance(result, Comparison) else (result.comparison, result)


def _comparison(
    compared: Comparison, result: PairedResult | None, form: str, style: Style
) -> str | bytes:
    if form == "html":
        from hotloop.report.comparison_page import render_comparison

        return render_comparison(compared, result)
    if form in PICTURES:
        from hotloop.report.experiment_pictures import comparison_picture

        return comparison_picture(compared, form)
    if form == "json":
        return json.dumps(comparison.comparison_document(compared, result), indent=1) + "\n"
    return _text_only(form) or comparison.comparison_text(compared, style, result)


def _sweep(result: Sweep, form: str, style: Style) -> str | bytes:
    if form == "html":
        from hotloop.report.sweep_page import render_sweep

        return render_sweep(result)
    if form in PICTURES:
        from hotloop.report.experiment_pictures import sweep_picture

        return sweep_picture(result, form)
    if form == "json":
        return json.dumps(sweep.sweep_document(result), indent=1) + "\n"
    return _text_only(form) or sweep.sweep_text(result, style)


def _investigation(result: Investigation, form: str, style: Style) -> str | bytes:
    if form == "html":
        from hotloop.report.investigation_page import render_investigation

        return render_investigation(result)
    if form in PICTURES:
        from hotloop.report.experiment_pictures import investigation_picture

        return investigation_picture(result, form)
    if form == "json":
        return json.dumps(investigation.investigation_document(result), indent=1) + "\n"
    if form == "markdown":
        return record(result)
    return _text_only(form) or investigation.investigation_text(result, style)


def _text_only(form: str) -> str:
    if form != "text":
        raise HotloopError(f"an experiment has no {form}; use text, json, html, png or svg")
    return ""
