"""The command line: thin. One file per subcommand; arguments in, an exit code out.

A subcommand has `add_arguments(parser)` and `main(options)`; one that takes a program to run also
has `parse(parser, argv)`. Its file imports at its top only what `--help` needs. Errors become exit
codes here only.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from hotloop import __version__
from hotloop.errors import HotloopError

#: Commands and their purpose, in the order in which a new user needs them.
COMMANDS = {
    "run": "run a training program and record where its time goes",
    "report": "show where the time of a recorded run went",
    "open": "open the page of a recorded run in a browser",
    "list": "list recorded runs and experiments",
    "live": "watch a run in progress, in a terminal or a browser",
    "prove": "try the suggested fixes and measure their speedups",
    "compare": "measure whether a change made training faster",
    "diff": "show what differs between two recorded runs",
    "sweep": "measure how throughput scales with a setting",
    "investigate": "test hypotheses as short experiments",
    "export": "export a recorded run: traces, flame graphs, tables",
    "clean": "delete old runs and experiments",
    "doctor": "check that this machine and environment are fit for training",
    "demo": "profile one of five training programs that come with hotloop",
    "mcp": "serve run, report, prove and compare to a coding assistant",
    "completion": "complete hotloop's commands and options in your shell",
}


def main(argv: list[str] | None = None) -> int:
    """The `hotloop` command."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        code = _dispatch(argv)
        if argv[:1] not in (["run"], ["demo"]):  # there, stdout belongs to the program
            sys.stdout.flush()
        return code
    except HotloopError as error:
        from hotloop.report.console.terminal import clean

        # The message may contain a file name that someone else chose.
        print("hotloop:", "\n".join(map(clean, str(error).split("\n"))), file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of hotloop's output is gone. A program's own error is never raised here.
        from hotloop.report.console.terminal import silence

        silence(sys.stdout)
        return 0
    except KeyboardInterrupt:
        if argv[:1] in (["run"], ["demo"]):  # the program's own
            raise
        print("hotloop: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        # A file name that is too long. A program's own error is never raised here.
        if error.errno != errno.ENAMETOOLONG:
            raise
        print(f"hotloop: {str(error.filename)[:40]!a}…: the name is too long", file=sys.stderr)
        return HotloopError.exit_code


def _dispatch(argv: list[str]) -> int:
    if argv and argv[0] in COMMANDS:
        # Import only the chosen command: `run` must start fast.
        command = importlib.import_module(f"hotloop.cli.{argv[0]}")
        parser = parser_of(argv[0])
        if hasattr(command, "parse"):
            return int(command.main(command.parse(parser, argv[1:])))
        return int(command.main(parser.parse_args(argv[1:])))
    if argv and argv[0] in ("-V", "--version"):
        print(f"hotloop {__version__}")
        return 0
    if argv and argv[0] not in ("-h", "--help", "help"):
        raise HotloopError(_unknown(argv))
    print(_usage())
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser that suggests corrections, and flushes its help before it exits."""

    def error(self, message: str) -> NoReturn:
        wrong = re.match(r"unrecognized arguments: (--?[\w-]+)", message)
        if wrong is not None:
            close = closest(wrong[1], self._option_string_actions)
            hint = f"did you mean {close}?" if close else f"`{self.prog} --help` lists them"
            raise HotloopError(f"unknown option {wrong[1]}; {hint}")
        raise HotloopError(f"{_plain(message)}\n`{self.prog} --help` explains the options")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()
        super().exit(status, message)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Wraps the paragraphs of a command's docstring; its examples stay as they are written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(_filled(each, width, indent) for each in paragraphs)


def _filled(paragraph: str, width: int, indent: str) -> str:
    lines = paragraph.splitlines()
    prose = not any(line.startswith((" ", "hotloop ", "{", "bash ")) for line in lines)
    if prose:
        return textwrap.fill(paragraph, width, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(indent + "  " + line.removeprefix("  ") for line in lines)


def _plain(message: str) -> str:
    """An error of argparse in the words of the other errors."""
    missing = re.match(r"the following arguments are required: (.*)", message)
    if missing is not None:
        return f"missing argument: {missing[1].upper()}"
    message = message.removeprefix("argument ")
    choice = re.match(r"(.*): invalid choice: '(.*)' \(choose from (.*)\)$", message)
    if choice is None:
        return message
    known = [each.strip(" '") for each in choice[3].split(",")]
    close = closest(choice[2], known)
    hint = f"did you mean {close}? " if close else ""
    return f"{choice[1]}: no {choice[2]!r}; {hint}use one of {', '.join(known)}"


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a command's arguments."""
    command = importlib.import_module(f"hotloop.cli.{name}")
    parser = _Parser(
        prog=f"hotloop {name}",
        description=command.__doc__,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    return parser


def closest(word: str, known: Iterable[str]) -> str | None:
    """A suggestion for a mistyped command or option, if any is close."""
    from difflib import get_close_matches

    # Compared without dashes, which would make any two options alike: --runs and --gpus.
    names = {each.lstrip("-"): each for each in known}
    near = get_close_matches(word.lstrip("-"), names, 1)
    return names[near[0]] if near else None


def _unknown(argv: list[str]) -> str:
    if argv[0].endswith(".py") or Path(argv[0]).is_file():
        return f"did you mean `hotloop run {' '.join(argv)}`?"
    if argv[0].startswith("-"):
        return f"unknown option {argv[0]}; `hotloop --help` lists the commands"
    close = closest(argv[0], COMMANDS)
    hint = f"; did you mean `hotloop {close}`?" if close else ""
    return f"no command {argv[0]!r}{hint or '; `hotloop --help` lists them'}"


def _usage() -> str:
    lines = [
        "hotloop: where your RL training time goes, why, and what to change",
        "",
        "usage: hotloop COMMAND [options]",
        "",
    ]
    lines += [f"  {name:<12} {what}" for name, what in COMMANDS.items()]
    lines += ["", "Start with: hotloop run train.py", "Details: hotloop COMMAND --help"]
    return "\n".join(lines)
