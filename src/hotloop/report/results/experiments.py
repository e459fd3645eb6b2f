"""Which renderer writes the result of an experiment, by its kind and the format."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from hotloop.analyze.comparing.compare import Comparison
from hotloop.analyze.comparing.experiments import Investigation, PairedResult, Result, Sweep
from hotloop.errors import HotloopError
from hotloop.report.console.terminal import Style
from hotloop.report.results import comparison, investigation, sweep

PICTURES = ("png", "svg")


class _Renderers(NamedTuple):
    """The renderers of one kind of result; `page` and `picture` are imported when needed."""

    text: Callable[..., str]
    document: Callable[..., dict[str, Any]]
    page: str
    picture: str


_COMPARISON = _Renderers(
    comparison.comparison_text,
    comparison.comparison_document,
    "comparison_page:render_comparison",
    "experiment_pictures:comparison_picture",
)
_RENDERERS: dict[type, _Renderers] = {
    Comparison: _COMPARISON,
    PairedResult: _COMPARISON,
    Sweep: _Renderers(
        sweep.sweep_text,
        sweep.sweep_document,
        "sweep_page:render_sweep",
        "experiment_pictures:sweep_picture",
    ),
    Investigation: _Renderers(
        investigation.investigation_text,
        investigation.investigation_document,
        "investigation_page:render_investigation",
        "experiment_pictures:investigation_picture",
    ),
}


def render(result: Result | Comparison, form: str, style: Style) -> str | bytes:
    """A result in that format: text, json, html, png, svg; of an investigation also markdown."""
    renderers = _RENDERERS[type(result)]
    # A comparison is rendered with failures and interruptions of its runs, if any.
    shown = result.comparison if isinstance(result, PairedResult) else result
    around = [result] if isinstance(result, PairedResult) else []
    if form == "text":
        return renderers.text(shown, style, *around)
    if form == "json":
        return json.dumps(renderers.document(shown, *around), indent=1) + "\n"
    if form == "html":
        return _imported(renderers.page)(shown, *around)
    if form in PICTURES:
        return _imported(renderers.picture)(shown, form)
    if form == "markdown" and isinstance(result, Investigation):
        return record(result)
    raise HotloopError(f"an experiment has no {form}; use text, json, html, png or svg")


def record(result: Investigation) -> str:
    """The Markdown record of an investigation, dated today."""
    machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    return investigation.investigation_markdown(result, time.strftime("%Y-%m-%d"), machine)


def _imported(renderer: str) -> Callable[..., str | bytes]:
    module, _, name = renderer.partition(":")
    function: Callable[..., str | bytes]
    function = getattr(import_module(f"hotloop.report.results.{module}"), name)
    return function
