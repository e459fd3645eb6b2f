"""Renders a report in a format and writes it to a file."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

from hotloop.errors import HotloopError
from hotloop.report import one_process
from hotloop.report.console.terminal import Style, write
from hotloop.report.console.text import text_report
from hotloop.report.document import Report
from hotloop.report.formats import FORMATS
from hotloop.report.view import DEFAULT_VIEW, View


def render(
    name: str, report: Report, view: View = DEFAULT_VIEW, style: Style | None = None
) -> str | bytes:
    """A report in that format."""
    if name == "text":
        return text_report(report, style or Style(), view)
    module, _, function = FORMATS[name].renderer.partition(":")
    renderer: Callable[[Report, View], str | bytes]
    renderer = getattr(importlib.import_module(module), function)
    return renderer(report, view)


def save(path: Path, content: str | bytes, force: bool) -> None:
    """Write a file; over an existing one only with `force`."""
    try:
        with open(path, "wb" if force else "xb") as file:
            file.write(content.encode(errors="replace") if isinstance(content, str) else content)
    except FileExistsError:
        raise HotloopError(f"{path}: already exists; use -f to overwrite") from None
    except OSError as error:
        raise HotloopError(f"{path}: cannot be written ({error.strerror})") from None


def put(content: str | bytes, output: str | None, force: bool) -> None:
    """Write a report to that file, or to standard output without one."""
    if output:
        save(Path(output), content, force)
        print(f"hotloop: wrote {output}", file=sys.stderr)
    elif isinstance(content, bytes):
        sys.stdout.buffer.write(content)
    else:
        write(sys.stdout, content)


def _json(report: Report, view: View = DEFAULT_VIEW) -> str:
    return json.dumps(one_process.document(report, view), indent=1) + "\n"
