"""Which renderer writes what: by a format's name, or by a file's ending."""

from __future__ import annotations

import json
from pathlib import Path

from hotloop.analyze.model import Analysis
from hotloop.diagnose.finding import Finding
from hotloop.errors import HotloopError
from hotloop.report.document import report_document
from hotloop.report.terminal import Style
from hotloop.report.text import View, text_report

#: Format -> the endings of files that are written in it.
FORMATS: dict[str, tuple[str, ...]] = {"text": (".txt",), "json": (".json",)}


def format_of(path: Path) -> str:
    """The format that a file's ending asks for."""
    for name, endings in FORMATS.items():
        if path.name.endswith(endings):
            return name
    known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
    raise HotloopError(f"{path}: unknown ending; known are {known}")


def render(
    name: str,
    analysis: Analysis,
    findings: list[Finding],
    view: View | None = None,
    style: Style | None = None,
) -> str:
    """An analysis in that format."""
    if name == "json":
        return json.dumps(report_document(analysis, findings), indent=1) + "\n"
    return text_report(analysis, findings, style or Style(), view)


def save(path: Path, text: str, force: bool) -> None:
    """Write a file, but never over another without being told to."""
    try:
        with open(path, "w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise HotloopError(f"{path}: already exists; -f overwrites it") from None
    except OSError as error:
        raise HotloopError(f"{path}: cannot be written ({error.strerror})") from None
