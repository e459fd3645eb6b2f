"""Export a recorded run to the format of another tool, chosen by the file's ending.

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

from hotloop.cli.selection import selected_capture
from hotloop.errors import HotloopError
from hotloop.report.formats import FORMATS, format_of
from hotloop.report.terminal import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    exports = [name for name, each in FORMATS.items() if each.export]
    parser.add_argument(
        "capture", nargs="?", help="folder of a capture or an experiment (default: the newest)"
    )
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
    from hotloop.analyze.history import RunHistory
    from hotloop.analyze.training import read_capture
    from hotloop.report.document import make_report
    from hotloop.report.output import render, save

    capture = read_capture(selected_capture(options.capture))
    # Findings are not part of what other tools show.
    content = render(format, make_report(analyze(capture), [], RunHistory(capture)))
    if options.output:
        save(Path(options.output), content, options.force)
        print(f"hotloop: wrote {options.output}", file=sys.stderr)
    elif isinstance(content, bytes):
        sys.stdout.buffer.write(content)
    else:
        write(sys.stdout, content)
    return 0
