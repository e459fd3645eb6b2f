"""What `compare`, `sweep` and `investigate` share on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hotloop.cli.run import add_phase_argument, shown
from hotloop.cli.run import make_folder as make_run_folder
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command
from hotloop.experiment.here import Here, Place
from hotloop.hooks.named import parse_phase
from hotloop.measure.session import say as say
from hotloop.measure.stopping import parse_stop_after
from hotloop.report.drawing import need_matplotlib
from hotloop.report.output import save
from hotloop.report.terminal import Style, style_for, write

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
PICTURES = ("png", "svg")

PLACES = ("here", "ray")


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """How long each run is, and where it takes place."""
    group = add_place_arguments(parser)
    group.add_argument(
        "--steps", type=above_zero, metavar="N", help="end each run after N environment steps"
    )
    group.add_argument(
        "--stop-after", metavar="AMOUNT", help="end each run early: 60s, 5000steps, 2episodes"
    )
    group.add_argument("--timeout", metavar="TIME", help="a run that takes longer has failed: 10m")
    add_phase_argument(group)


def add_place_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Where runs take place, and where their captures go."""
    group = parser.add_argument_group("the runs")
    group.add_argument("--folder", help="where the captures go (default: below runs/hotloop)")
    group.add_argument("--on", choices=PLACES, default="here", help="where the runs take place")
    group.add_argument(
        "--cpus", type=above_zero, metavar="N", help="cores that a run needs (with --on ray)"
    )
    group.add_argument(
        "--gpus", type=float, metavar="N", help="GPUs that a run needs (with --on ray)"
    )
    return group


def add_output_arguments(
    parser: argparse.ArgumentParser, more: dict[str, tuple[str, ...]] | None = None
) -> None:
    """How the result is written; `more` are formats that only this command has."""
    formats = {**FORMATS, **(more or {})}
    group = parser.add_argument_group("the result")
    printed = sorted(set(formats) - set(FILES_ONLY))
    group.add_argument("--format", choices=printed, default="text")
    endings = ", ".join(ending for endings in formats.values() for ending in endings)
    group.add_argument("-o", "--output", help=f"write a file; its ending says how: {endings}")
    group.add_argument("-f", "--force", action="store_true", help="overwrite that file")
    parser.set_defaults(formats=formats)


def parse_up_to_program(
    parser: argparse.ArgumentParser, argv: list[str], example: str
) -> argparse.Namespace:
    """hotloop's options, and the words of the program: after `--`, or from the first other word."""
    takes_value = {name: a.nargs != 0 for name, a in parser._option_string_actions.items()}
    at = 0
    while at < len(argv) and argv[at] != "--" and argv[at].startswith("-"):
        at += 2 if takes_value.get(argv[at], False) else 1
    options = parser.parse_args(argv[:at])
    options.program = argv[at + 1 :] if argv[at : at + 1] == ["--"] else argv[at:]
    if not options.program:
        raise HotloopError(f"no program to run; write: {example}")
    return options


def show(options: argparse.Namespace, render: Callable[[str, Style], str | bytes]) -> None:
    """Print the result, or write it to the file that was asked for."""
    if options.output:
        path = Path(options.output)
        save(path, render(format_of(path, options.formats), Style()), options.force)
        say(f"wrote {path}")
        return
    content = render(options.format, style_for(sys.stdout))
    write(sys.stdout, content if isinstance(content, str) else content.decode())


def format_of(path: Path, formats: dict[str, tuple[str, ...]]) -> str:
    """The format that a file's ending asks for."""
    for name, endings in formats.items():
        if path.name.lower().endswith(endings) and name != "plan":
            return name
    known = ", ".join(ending for endings in formats.values() for ending in endings)
    raise HotloopError(f"{path}: unknown ending; known are {known}")


def check_output(options: argparse.Namespace) -> None:
    """Say before an hour of runs, not after it, that the result cannot be written."""
    format = options.format
    if options.output:
        path = Path(options.output)
        format = format_of(path, options.formats)
        if path.exists() and not options.force:
            raise HotloopError(f"{path}: already exists; -f overwrites it")
        if not path.absolute().parent.is_dir():
            raise HotloopError(f"{path}: no such folder {path.absolute().parent}")
    if format in PICTURES:
        need_matplotlib()


def stop_after(options: argparse.Namespace) -> str | None:
    """When each run ends, as `hotloop run --stop-after` takes it."""
    if options.steps is not None and options.stop_after is not None:
        raise HotloopError("--steps and --stop-after say the same thing; give one of them")
    if options.steps is not None:
        return f"{options.steps}steps"
    if options.stop_after is not None:
        parse_stop_after(options.stop_after)
    else:
        say("each run goes on to its own end; --steps N or --stop-after 60s cuts it")
    return options.stop_after  # type: ignore[no-any-return]


def as_measured(command: Command, options: argparse.Namespace) -> Command:
    """A program with what `hotloop run` is to be told about it."""
    phases = [word for text in options.phase for word in ("--phase", str(parse_phase(text)))]
    return replace(command, options=(*command.options, *phases))


def timeout(options: argparse.Namespace) -> float | None:
    """The longest that a run may take, in seconds."""
    if options.timeout is None:
        return None
    try:
        limit = parse_stop_after(options.timeout)
    except HotloopError:
        limit = None
    if limit is None or limit.what != "seconds":
        raise HotloopError(f"--timeout {options.timeout}: a time, such as 90s or 10m")
    return limit.amount


def make_folder(given: str | None, kind: str) -> Path:
    """A new folder for the captures of this experiment."""
    folder = make_run_folder(given, kind)
    say(f"captures go to {shown(folder)}")
    return folder


def place(options: argparse.Namespace) -> Place:
    """Where the runs take place."""
    if options.on == "here":
        for name in ("cpus", "gpus"):
            if getattr(options, name) is not None:
                raise HotloopError(f"--{name} goes with --on ray; here a run has the whole machine")
        return Here()
    from hotloop.experiment.cluster import OnRay

    return OnRay(cpus=options.cpus, gpus=options.gpus, say=say)


def is_capture(text: str) -> bool:
    """Whether a word names a folder that holds shards."""
    path = Path(text)
    try:
        return path.is_dir() and any(path.glob("*.jsonl"))
    except OSError:
        return False


def above_zero(text: str) -> int:
    """An argparse type: a whole number from 1."""
    return _at_least(text, 1)


def not_negative(text: str) -> int:
    """An argparse type: a whole number from 0."""
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}")
    return number


def percent(text: str) -> float:
    """An argparse type: `2%` as 0.02."""
    try:
        value = float(text.strip().removesuffix("%")) / 100.0
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage, such as 2%") from None
    # 0.02 without a sign would be a fiftieth of a percent: surely not what was meant.
    if not 0 < value < 10 or (value < 0.01 and not text.strip().endswith("%")):
        raise argparse.ArgumentTypeError(f"{text!r}: write a percentage, such as 2%")
    return value
