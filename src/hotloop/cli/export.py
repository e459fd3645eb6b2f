"""Export a recorded run for another tool; the file's ending selects the format.

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

from hotloop.cli.selection import add_capture_argument, selected_capture
from hotloop.errors import HotloopError
from hotloop.report.formats import FORMATS, format_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    exports = [name for name, each in FORMATS.items() if each.export]
    add_capture_argument(parser)
    parser.add_argument("--format", choices=exports, help="print it instead of writing a file")
    parser.add_argument("-o", "--output", help="write a file; its ending selects the format")
    parser.add_argument("-f", "--force", action="store_true", help="overwrite that file")


def main(options: argparse.Namespace) -> int:
    if bool(options.output) == bool(options.format):
        raise HotloopError(
            "choose an output: -o FILE (its ending selects the format), or --format NAME to print"
        )
    format = format_of(Path(options.output)) if options.output else options.format
    if options.format and not FORMATS[format].text and sys.stdout.isatty():
        raise HotloopError(f"{format} is not text; write it to a file with -o")
    from hotloop.analyze.analysis import analyze
    from hotloop.analyze.over_time.history import RunHistory
    from hotloop.analyze.processes.training import read_capture
    from hotloop.report.document import make_report
    from hotloop.report.output import put, render

    capture = read_capture(selected_capture(options.capture))
    # Other tools do not show findings.
    content = render(format, make_report(analyze(capture), [], RunHistory(capture)))
    put(content, options.output, options.force)
    return 0
