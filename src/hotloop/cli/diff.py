"""Show what differs between two recorded runs: time per step, by phase.

hotloop diff                   the two newest captures
hotloop diff A B               B compared with A
hotloop diff A B -o diff.html

The runs were not interleaved, so a difference may also come from the machine. To be sure, let
`hotloop compare` run both commands.
"""

from __future__ import annotations

import argparse

from hotloop.cli import experiments
from hotloop.cli.selection import newest_captures, selected_capture
from hotloop.errors import HotloopError
from hotloop.run.folders import as_typed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "captures",
        nargs="*",
        metavar="CAPTURE",
        help="two folders of captures (default: the two newest)",
    )
    experiments.add_judging_arguments(parser)
    experiments.add_output_arguments(parser)


def main(options: argparse.Namespace) -> int:
    experiments.check_output(options)
    if len(options.captures) not in (0, 2):
        raise HotloopError("name two captures, or none for the two newest")
    if options.captures:
        first, second = (selected_capture(text) for text in options.captures)
    else:
        newest = newest_captures(2)
        if len(newest) < 2:
            raise HotloopError("fewer than two captures below runs/hotloop; name two folders")
        second, first = newest
        experiments.notify(f"comparing {as_typed(second)} with {as_typed(first)}")
    experiments.show(options, experiments.compared(first, second, options))
    return 0
