"""Open the page of a recorded run or of an experiment in a browser.

hotloop open                  the newest
hotloop open CAPTURE          also the folder of a compare, sweep or investigate
hotloop open --print          only write the page and print where it is

The page is one file, report.html in that folder. It needs no network and no server.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from hotloop.cli.selection import add_capture_argument, selected
from hotloop.run.folders import as_typed
from hotloop.run.messages import notify

PAGE = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_capture_argument(parser)
    parser.add_argument(
        "--print",
        dest="only_print",
        action="store_true",
        help="do not start a browser; print the path",
    )


def main(options: argparse.Namespace) -> int:
    folder = selected(options.capture)
    path = _write_page(folder)
    print(as_typed(path.absolute()))
    if options.only_print:
        return 0
    if not _can_show() or not _show(path):
        notify("no browser could be started; open that file on a machine that has one")
    return 0


def _write_page(folder: Path) -> Path:
    from hotloop.capture import private
    from hotloop.cli.report import rendered

    content = rendered(folder, "html")
    assert isinstance(content, str)
    path = folder / PAGE
    try:
        private.write_text(path, content)
    except OSError:
        # Another user's capture: write the page to a folder that this user can write to.
        path = Path(tempfile.mkdtemp(prefix="hotloop-")) / PAGE
        private.write_text(path, content)
    return path


def _can_show() -> bool:
    """Whether there is a display; without one, a text browser would take over this terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _show(path: Path) -> bool:
    import webbrowser

    try:
        return webbrowser.open(path.absolute().as_uri())
    except (OSError, webbrowser.Error):
        return False
