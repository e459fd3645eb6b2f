"""Options that `compare`, `sweep` and `investigate` share."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hotloop.analyze.comparing.defaults import MARGIN, SEEDS
from hotloop.cli.numbers import above_zero, percent
from hotloop.cli.run import add_phase_argument
from hotloop.errors import HotloopError
from hotloop.experiment.marker import write_marker
from hotloop.report.console.terminal import Style, clean, style_for, write
from hotloop.run.folders import as_typed
from hotloop.run.folders import make_folder as make_run_folder
from hotloop.run.messages import notify as notify

#: The end of a capture's name: date, time, and a number if several began within a second.
_WHEN = re.compile(r"-\d{8}-\d{6}(-\d+)?$")

if TYPE_CHECKING:
    from hotloop.analyze.comparing.compare import Comparison
    from hotloop.analyze.comparing.experiments import Result
    from hotloop.experiment.command import Command
    from hotloop.experiment.here import Place

#: Format -> the endings of files that are written in it.
FORMATS: dict[str, tuple[str, ...]] = {
    "text": (".txt",),
    "json": (".json",),
    "html": (".html", ".htm"),
    "png": (".png",),
    "svg": (".svg",),
}
#: Formats that are written to a file and never printed.
FILES_ONLY = ("plan", "png")

PLACES = ("here", "ray")


def add_return_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a comparison by time to a return."""
    parser.add_argument(
        "--to-return",
        metavar="X|auto",
        help="compare the time to reach this return; auto chooses one that all of them reach",
    )
    parser.add_argument(
        "--seeds",
        type=above_zero,
        metavar="N",
        help=f"number of seeds per command with --to-return (default {SEEDS}); each "
        "replaces {seed} in the command",
    )


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Options for the length and the place of each run."""
    group = add_place_arguments(parser)
    group.add_argument(
        "--steps", type=above_zero, metavar="N", help="end each run after N environment steps"
    )
    group.add_argument(
        "--stop-after", metavar="AMOUNT", help="end each run early: 60s, 5000steps, 2episodes"
    )
    group.add_argument(
        "--timeout", metavar="TIME", help="a run that takes longer counts as failed: 10m"
    )
    add_phase_argument(group)


def add_judging_arguments(parser: argparse.ArgumentParser) -> None:
    """How two sides are judged."""
    parser.add_argument(
        "--margin",
        type=percent,
        default=MARGIN,
        metavar="5%",
        help="differences below this count as none (default: 5%%)",
    )
    parser.add_argument("--names", metavar="A,B", help="names for the two sides")
    parser.add_argument(
        "--any-work",
        action="store_true",
        help="compare time per step even if the number of gradient steps per step differs",
    )


def names_of(options: argparse.Namespace) -> tuple[str, str] | None:
    """The names given by `--names`."""
    if options.names is None:
        return None
    names = [clean(name.strip()) for name in options.names.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise HotloopError(
            f"--names {options.names}: needs two different names, such as --names off,on"
        )
    return names[0], names[1]


def both_commands(options: argparse.Namespace) -> tuple[Command, Command]:
    """The two programs to compare, with their options for `hotloop run`."""
    from hotloop.experiment.command import check_exists, parse_command

    first, second = (
        as_measured(parse_command(text), options) for text in (options.first, options.second)
    )
    for command in (first, second):
        check_exists(command)
    return first, second


def compared(first: Path, second: Path, options: argparse.Namespace) -> Comparison:
    """Compare two captures, window by window."""
    from hotloop.analyze.analysis import analyze
    from hotloop.analyze.comparing.unpaired import compare_captures
    from hotloop.analyze.processes.training import read_capture

    sides = [analyze(read_capture(folder)) for folder in (first, second)]
    names = names_of(options) or _names_of_captures(first, second)
    return compare_captures(
        sides[0], sides[1], names, margin=options.margin, any_work=options.any_work
    )


def _names_of_captures(first: Path, second: Path) -> tuple[str, str]:
    """Names of folders, without date and time where they differ all the same."""
    names = first.name, second.name
    programs = tuple(_WHEN.sub("", name) for name in names)
    return (programs[0], programs[1]) if programs[0] != programs[1] else names


def add_place_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Options for where runs take place and where their captures go."""
    group = parser.add_argument_group("the runs")
    group.add_argument("--folder", help="folder for the captures (default: below runs/hotloop)")
    group.add_argument("--on", choices=PLACES, default="here", help="where to run")
    group.add_argument(
        "--cpus", type=above_zero, metavar="N", help="CPU cores per run (with --on ray)"
    )
    group.add_argument("--gpus", type=float, metavar="N", help="GPUs per run (with --on ray)")
    return group


def add_output_arguments(
    parser: argparse.ArgumentParser, more: dict[str, tuple[str, ...]] | None = None
) -> None:
    """How the result is written; `more` are formats that only this command has."""
    formats = {**FORMATS, **(more or {})}
    group = parser.add_argument_group("the result")
    printed = sorted(set(formats) - set(FILES_ONLY))
    group.add_argument(
        "--format", choices=printed, default="text", help="print it in this format (default: text)"
    )
    endings = ", ".join(ending for endings in formats.values() for ending in endings)
    group.add_argument(
        "-o", "--output", help=f"write a file; its ending selects the format: {endings}"
    )
    group.add_argument("-f", "--force", action="store_true", help="overwrite that file")
    parser.set_defaults(formats=formats)


def show(options: argparse.Namespace, result: Result | Comparison) -> None:
    """Keep the result in its folder, write the file that was asked for, and print the result."""
    from hotloop.analyze.comparing.compare import Comparison
    from hotloop.experiment.stored import store
    from hotloop.report.results.experiments import render

    if not isinstance(result, Comparison):  # captures that are compared have no folder
        store(result)
    put(options, partial(render, result))
    if options.output:
        notify(f"wrote {options.output}")
    elif not isinstance(result, Comparison):
        notify(f"as a page: hotloop open {as_typed(Path(result.folder))}")


def put(options: argparse.Namespace, render: Callable[[str, Style], str | bytes]) -> None:
    """Write the file that was asked for, and print the result."""
    from hotloop.report.output import save

    if options.output:
        path = Path(options.output)
        save(path, render(format_of(path, options.formats), Style()), options.force)
    content = render(options.format, style_for(sys.stdout))
    write(sys.stdout, content if isinstance(content, str) else content.decode())


def format_of(path: Path, formats: dict[str, tuple[str, ...]]) -> str:
    """The format that a file's ending asks for."""
    for name, endings in formats.items():
        if path.name.lower().endswith(endings) and name != "plan":
            return name
    known = ", ".join(ending for endings in formats.values() for ending in endings)
    raise HotloopError(f"{path}: unknown file ending; use one of {known}")


def check_output(options: argparse.Namespace) -> None:
    """Fail before the runs, not after an hour of them, if the result cannot be written."""
    format = options.format
    if options.output:
        path = Path(options.output)
        format = format_of(path, options.formats)
        if path.exists() and not options.force:
            raise HotloopError(f"{path}: already exists; use -f to overwrite")
        if not path.absolute().parent.is_dir():
            raise HotloopError(f"{path}: no such folder {path.absolute().parent}")
    from hotloop.report.results.experiments import PICTURES

    if format in PICTURES:
        from hotloop.report.figures import need_matplotlib

        need_matplotlib()


def stop_after(options: argparse.Namespace) -> str | None:
    """When each run ends, in the form of `hotloop run --stop-after`."""
    if options.steps is not None and options.stop_after is not None:
        raise HotloopError("--steps and --stop-after cannot be combined; give one of them")
    if options.steps is not None:
        return f"{options.steps}steps"
    if options.stop_after is not None:
        from hotloop.run.stopping import parse_stop_after

        parse_stop_after(options.stop_after)
    else:
        notify(
            "each run continues until its program ends; --steps N or --stop-after 60s ends it early"
        )
    return options.stop_after  # type: ignore[no-any-return]


def as_measured(command: Command, options: argparse.Namespace) -> Command:
    """A program with its options for `hotloop run`."""
    from hotloop.run.options import checked_phases

    phases = [word for text in checked_phases(options.phase) for word in ("--phase", text)]
    return replace(command, options=(*command.options, *phases))


def timeout(options: argparse.Namespace) -> float | None:
    """The time limit of a run, in seconds."""
    from hotloop.run.stopping import parse_time

    return None if options.timeout is None else parse_time("--timeout", options.timeout)


def make_folder(given: str | None, kind: str) -> Path:
    """A new folder for the captures of this experiment."""
    folder = make_run_folder(given, kind)
    write_marker(folder, kind)
    notify(f"captures go to {as_typed(folder)}")
    return folder


def place(options: argparse.Namespace) -> Place:
    """The place where the runs happen."""
    if options.on == "here":
        for name in ("cpus", "gpus"):
            if getattr(options, name) is not None:
                raise HotloopError(f"--{name} needs --on ray; a local run has the whole machine")
        from hotloop.experiment.here import Here

        return Here()
    from hotloop.experiment.cluster import OnRay

    return OnRay(cpus=options.cpus, gpus=options.gpus, say=notify)
