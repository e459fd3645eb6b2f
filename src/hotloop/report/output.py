"""Which renderer writes what: by a format's name, or by a file's ending.

A format is one line of the table below; its renderer is imported when it is asked for, so that a
report on a terminal never waits for a library of pictures.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hotloop.analyze.model import Analysis
from hotloop.capture.reader import Capture
from hotloop.diagnose.finding import Finding
from hotloop.errors import HotloopError
from hotloop.report.document import report_document
from hotloop.report.terminal import Style
from hotloop.report.text import View, text_report


@dataclass(frozen=True)
class Material:
    """All that a renderer may use."""

    analysis: Analysis
    findings: list[Finding]
    view: View = field(default_factory=View)
    style: Style = field(default_factory=Style)
    #: None for figures that were never written down.
    capture: Capture | None = None


@dataclass(frozen=True)
class Format:
    """A way to write a report: the endings of its files, and where its renderer is."""

    endings: tuple[str, ...]
    renderer: str
    #: Text can go to a terminal; the others need a file or a pipe.
    text: bool = True
    #: Shown in the list of `export`, rather than in that of `report`.
    export: bool = False


_EXPORT = "hotloop.report.export."

FORMATS: dict[str, Format] = {
    "text": Format((".txt",), "hotloop.report.output:_text"),
    "json": Format((".json",), "hotloop.report.output:_json"),
    "markdown": Format((".md",), "hotloop.report.markdown:render"),
    "html": Format((".html", ".htm"), "hotloop.report.page:render"),
    "detailed": Format(("detailed.json",), "hotloop.report.detailed:render"),
    "png": Format((".png",), "hotloop.report.pictures:render_png", text=False),
    "svg": Format((".svg",), "hotloop.report.pictures:render_svg"),
    "perfetto": Format((".perfetto.json", ".trace.json"), _EXPORT + "perfetto:render", export=True),
    "speedscope": Format((".speedscope.json",), _EXPORT + "speedscope:render", export=True),
    "collapsed": Format((".collapsed", ".folded"), _EXPORT + "collapsed:render", export=True),
    "pstats": Format((".pstats", ".prof"), _EXPORT + "pstats:render", text=False, export=True),
    "csv": Format((".csv",), _EXPORT + "windows:render_csv", export=True),
    "parquet": Format((".parquet",), _EXPORT + "windows:render_parquet", text=False, export=True),
}


def known_endings() -> str:
    """Every ending, to be listed for a person."""
    return ", ".join(ending for each in FORMATS.values() for ending in each.endings)


def format_of(path: Path) -> str:
    """The format that a file's ending asks for; the longest ending wins."""
    matches = [
        (len(ending), name)
        for name, each in FORMATS.items()
        for ending in each.endings
        if path.name.lower().endswith(ending)
    ]
    if not matches:
        raise HotloopError(f"{path}: unknown ending; known are {known_endings()}")
    return max(matches)[1]


def render(
    name: str,
    analysis: Analysis,
    findings: list[Finding],
    view: View | None = None,
    style: Style | None = None,
    capture: Capture | None = None,
) -> str | bytes:
    """An analysis in that format."""
    module, _, function = FORMATS[name].renderer.partition(":")
    renderer: Callable[[Material], str | bytes] = getattr(importlib.import_module(module), function)
    return renderer(Material(analysis, findings, view or View(), style or Style(), capture))


def save(path: Path, content: str | bytes, force: bool) -> None:
    """Write a file, but never over another without being told to."""
    try:
        with open(path, "wb" if force else "xb") as file:
            file.write(content.encode(errors="replace") if isinstance(content, str) else content)
    except FileExistsError:
        raise HotloopError(f"{path}: already exists; -f overwrites it") from None
    except OSError as error:
        raise HotloopError(f"{path}: cannot be written ({error.strerror})") from None


def need_capture(material: Material) -> Capture:
    """The capture behind the figures, for renderers that show more than their sums."""
    if material.capture is None:
        raise HotloopError("this format needs a capture; make one with `hotloop run`")
    return material.capture


def _text(material: Material) -> str:
    return text_report(material.analysis, material.findings, material.style, material.view)


def _json(material: Material) -> str:
    document: dict[str, Any] = report_document(material.analysis, material.findings)
    return json.dumps(document, indent=1) + "\n"
