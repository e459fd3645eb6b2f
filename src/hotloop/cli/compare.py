"""Tell whether a change made training faster, and in which phase, from noise.

  hotloop compare "train.py --no-turbo" "train.py --turbo" --steps 20000
  hotloop compare CAPTURE_A CAPTURE_B

Two commands are run in turn, many times, and compared by their time per environment step, as a
whole and by phase. The verdict speaks of the second beside the first: faster, slower, no difference
(within ±x%), cannot tell (about n more pairs), or not comparable (why). It stops as soon as that is
clear. Two captures are compared from their windows; they were not interleaved: that says less.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hotloop.analyze.compare import Comparison
from hotloop.analyze.judgement import MARGIN, SLOWER
from hotloop.analyze.sequential import MOST_PAIRS, MOST_PAIRS_UNTIL, Rule
from hotloop.cli import experiments
from hotloop.errors import HotloopError
from hotloop.experiment.command import check_exists, parse_command, short_names
from hotloop.experiment.paired import Design, PairedRuns, Result
from hotloop.report.comparison import comparison_document, comparison_text
from hotloop.report.terminal import Style, clean

HELP = "tell whether a change made training faster, from noise"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", help="a command in quotes, or a capture's folder")
    parser.add_argument("second", help="the other one")
    parser.add_argument(
        "--pairs",
        type=experiments.above_zero,
        metavar="N",
        help=f"make exactly N pairs (default: until it is clear, at most {MOST_PAIRS})",
    )
    parser.add_argument(
        "--until",
        type=experiments.percent,
        metavar="2%",
        help="go on until the ratio is known this well, or the verdict is clear "
        f"(at most --pairs, default {MOST_PAIRS_UNTIL})",
    )
    parser.add_argument(
        "--margin",
        type=experiments.percent,
        default=MARGIN,
        metavar="5%",
        help="a difference that is shown to be below this is called none (default 5%%)",
    )
    parser.add_argument("--names", metavar="A,B", help="what to call the two")
    parser.add_argument(
        "--warm-up",
        type=experiments.not_negative,
        default=1,
        metavar="N",
        help="runs of each that are made first and not counted (default 1)",
    )
    parser.add_argument(
        "--any-work",
        action="store_true",
        help="give a verdict on the time per step even if the gradient steps per step differ",
    )
    parser.add_argument(
        "--fail-on-regression",
        type=experiments.percent,
        metavar="5%",
        help='exit with code 1 if the second is slower by this much; "cannot tell" never fails',
    )
    experiments.add_run_arguments(parser)
    experiments.add_output_arguments(parser)


def main(options: argparse.Namespace) -> int:
    experiments.check_output(options)
    kinds = [experiments.is_capture(text) for text in (options.first, options.second)]
    if all(kinds) and options.phase:
        raise HotloopError("--phase is for runs; a capture has the phases it was recorded with")
    if all(kinds):
        comparison, result = _captures(options), None
    elif any(kinds):
        capture, other = (
            (options.first, options.second) if kinds[0] else (options.second, options.first)
        )
        raise HotloopError(f"{capture} is a capture and {other} is not; compare two of a kind")
    else:
        result = _run(options)
        comparison = result.comparison
    experiments.show(options, lambda form, style: _rendered(form, style, comparison, result))
    return _exit_code(options, comparison, result)


def _captures(options: argparse.Namespace) -> Comparison:
    from hotloop.analyze.analysis import analyze
    from hotloop.analyze.unpaired import compare_captures
    from hotloop.capture.reader import read_capture

    sides = [analyze(read_capture(text)) for text in (options.first, options.second)]
    names = _names(options) or (Path(options.first).name, Path(options.second).name)
    return compare_captures(
        sides[0], sides[1], names, margin=options.margin, any_work=options.any_work
    )


def _run(options: argparse.Namespace) -> Result:
    first, second = (
        experiments.as_measured(parse_command(text), options)
        for text in (options.first, options.second)
    )
    commands = first, second
    for command in commands:
        check_exists(command)
    design = Design(
        Rule(options.pairs, options.until, options.margin, options.any_work),
        warm_up=options.warm_up,
        stop_after=experiments.stop_after(options),
        timeout_s=experiments.timeout(options),
    )
    names = _names(options) or short_names(*commands)
    place = experiments.place(options)
    try:
        folder = experiments.make_folder(options.folder, "compare")
        return PairedRuns(commands, names, design, folder, place, experiments.say).go()
    finally:
        place.close()


def _names(options: argparse.Namespace) -> tuple[str, str] | None:
    if options.names is None:
        return None
    names = [clean(name.strip()) for name in options.names.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise HotloopError(f"--names {options.names}: two different names, such as --names off,on")
    return names[0], names[1]


def _rendered(
    form: str, style: Style, comparison: Comparison, result: Result | None
) -> str | bytes:
    if form == "html":
        from hotloop.report.comparison_page import render_comparison

        return render_comparison(comparison, result)
    if form in experiments.PICTURES:
        from hotloop.report.experiment_pictures import comparison_picture

        return comparison_picture(comparison, form)
    if form == "json":
        document: dict[str, Any] = comparison_document(comparison, result)
        return json.dumps(document, indent=1) + "\n"
    return comparison_text(comparison, style, result)


def _exit_code(options: argparse.Namespace, comparison: Comparison, result: Result | None) -> int:
    if result is not None and result.failure is not None:
        kept = f"{comparison.pairs} finished pairs are kept in {result.folder}"
        print(f"hotloop: {result.failure}\nhotloop: {kept}", file=sys.stderr)
        return result.failure.exit_code
    if result is not None and result.interrupted:
        return 130
    whole = comparison.whole
    limit = options.fail_on_regression
    if limit is not None and whole.verdict == SLOWER and whole.estimate is not None:
        return 1 if 1.0 / whole.estimate - 1.0 >= limit else 0
    return 0
