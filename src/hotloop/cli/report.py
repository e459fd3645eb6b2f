"""Show where the time of a recorded run went.

hotloop report                      the newest capture below runs/hotloop
hotloop report CAPTURE              as text
hotloop report CAPTURE --format json
hotloop report CAPTURE -o report.html    a page; also .md, .txt, .json, .png, .svg, …
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hotloop.analyze.analysis import analyze
from hotloop.capture.reader import read_capture
from hotloop.capture.training import TRAINS_IN
from hotloop.diagnose import diagnose
from hotloop.errors import HotloopError
from hotloop.report.output import FORMATS, format_of, known_endings, render, save
from hotloop.report.terminal import style_for, write
from hotloop.report.text import SORTS, View

HELP = "show where the time of a recorded run went"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("capture", nargs="?", help="a capture's folder (default: the newest)")
    parser.add_argument(
        "--format", choices=[n for n, f in FORMATS.items() if f.text], default="text"
    )
    parser.add_argument(
        "-o", "--output", help=f"write a file; its ending says how: {known_endings()}"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite that file")
    parser.add_argument("--sort", choices=sorted(SORTS), default="total")
    parser.add_argument("--top", type=_above_zero, default=10, help="how many functions to list")
    parser.add_argument("--depth", type=_above_zero, help="how deep the tree of phases is shown")
    parser.add_argument("--process", default="main", help="a process's name, or all")


def main(options: argparse.Namespace) -> int:
    folder = Path(options.capture) if options.capture else newest_capture()
    format = format_of(Path(options.output)) if options.output else options.format
    capture = read_capture(folder)
    analysis = analyze(capture)
    if options.process == analysis.notes.get(TRAINS_IN):
        options.process = "main"
    known = {process.name for process in analysis.processes} | {"all", "main"}
    if options.process not in known:
        raise HotloopError(f"--process {options.process}: there are {', '.join(sorted(known))}")
    view = View(options.sort, options.top, options.depth, options.process)
    findings = diagnose(analysis)
    if options.output:
        content = render(format, analysis, findings, view, capture=capture)
        save(Path(options.output), content, options.force)
        print(f"hotloop: wrote {options.output}", file=sys.stderr)
        return 0
    text = render(format, analysis, findings, view, style_for(sys.stdout), capture)
    write(sys.stdout, str(text))
    return 0


def newest_capture() -> Path:
    """The capture that was made last, below the folder where `run` leaves them."""
    base = Path("runs/hotloop")
    folders = [path.parent for path in base.glob("*/main.jsonl")] if base.is_dir() else []
    if not folders:
        raise HotloopError(
            f"no capture below {base}; make one with `hotloop run train.py` or name its folder"
        )
    return max(folders, key=lambda folder: (folder / "main.jsonl").stat().st_mtime)


def _above_zero(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
