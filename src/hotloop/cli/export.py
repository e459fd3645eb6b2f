"""Write a recorded run in the format of another tool; the file's ending says which.

hotloop export CAPTURE -o run.perfetto.json     Perfetto, chrome://tracing (needs `run --trace`)
hotloop export CAPTURE -o run.speedscope.json   speedscope.app
hotloop export CAPTURE -o run.collapsed         flamegraph.pl, inferno
hotloop export CAPTURE -o run.pstats            pstats, snakeviz
hotloop export CAPTURE -o run.csv               the windows as a table; also .parquet
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hotloop.analyze.analysis import analyze
from hotloop.capture.reader import read_capture
from hotloop.cli.report import newest_capture
from hotloop.errors import HotloopError
from hotloop.report.output import FORMATS, format_of, render, save
from hotloop.report.terminal import write

HELP = "write a recorded run for another tool: traces, flame graphs, tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    exports = [name for name, each in FORMATS.items() if each.export]
    parser.add_argument("capture", nargs="?", help="a capture's folder (default: the newest)")
    parser.add_argument("--format", choices=exports, help="print it instead of writing a file")
    parser.add_argument("-o", "--output", help="the file to write")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite that file")


def main(options: argparse.Namespace) -> int:
    if bool(options.output) == bool(options.format):
        raise HotloopError("say where to: -o FILE (its ending says how), or --format NAME to print")
    format = format_of(Path(options.output)) if options.output else options.format
    if options.format and not FORMATS[format].text and sys.stdout.isatty():
        raise HotloopError(f"{format} is not text; write it to a file with -o")
    capture = read_capture(Path(options.capture) if options.capture else newest_capture())
    # Findings are not part of what other tools show.
    content = render(format, analyze(capture), [], capture=capture)
    if options.output:
        save(Path(options.output), content, options.force)
        print(f"hotloop: wrote {options.output}", file=sys.stderr)
    elif isinstance(content, bytes):
        sys.stdout.buffer.write(content)
    else:
        write(sys.stdout, content)
    return 0
