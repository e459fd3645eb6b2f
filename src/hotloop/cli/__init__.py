"""The command line: thin. One file a subcommand; arguments in, an exit code out.

A subcommand has `HELP` (its line in the list), `add_arguments(parser)` and `main(options)`.
Errors become exit codes here and nowhere else.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import sys
from pathlib import Path
from typing import NoReturn

from hotloop import __version__
from hotloop.errors import HotloopError

#: In the order in which a new user meets them.
COMMANDS = (
    "run",
    "report",
    "live",
    "export",
    "doctor",
    "demo",
    "compare",
    "sweep",
    "investigate",
    "completion",
)


def main(argv: list[str] | None = None) -> int:
    """The `hotloop` command."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        code = _dispatch(argv)
        if argv[:1] not in (["run"], ["demo"]):  # there, it is the program's
            sys.stdout.flush()
        return code
    except HotloopError as error:
        from hotloop.report.terminal import clean

        # It may name a file that somebody else has named.
        print("hotloop:", "\n".join(map(clean, str(error).split("\n"))), file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # A program's own never comes here: nobody reads what hotloop has to say.
        from hotloop.report.terminal import silence

        silence(sys.stdout)
        return 0
    except OSError as error:
        # A name that no file can have; a program's own error never comes here.
        if error.errno != errno.ENAMETOOLONG:
            raise
        print(f"hotloop: {str(error.filename)[:40]!a}…: the name is too long", file=sys.stderr)
        return HotloopError.exit_code


def _dispatch(argv: list[str]) -> int:
    if argv and argv[0] in COMMANDS:
        # Only the one that is asked for is imported: `run` must start fast.
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
    """A parser whose help reaches its reader before it ends the process, or says so."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()
        super().exit(status, message)


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a command's arguments."""
    command = importlib.import_module(f"hotloop.cli.{name}")
    parser = _Parser(
        prog=f"hotloop {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    return parser


def _unknown(argv: list[str]) -> str:
    from difflib import get_close_matches

    if argv[0].endswith(".py") or Path(argv[0]).is_file():
        return f"did you mean `hotloop run {' '.join(argv)}`?"
    if argv[0].startswith("-"):
        return f"unknown option {argv[0]}; `hotloop --help` lists the commands"
    close = get_close_matches(argv[0], COMMANDS, 1)
    hint = f"; did you mean `hotloop {close[0]}`?" if close else ""
    return f"no command {argv[0]!r}{hint or '; `hotloop --help` lists them'}"


def _usage() -> str:
    lines = [
        "hotloop: where the time of a reinforcement-learning training goes, and what to change",
        "",
        "usage: hotloop COMMAND [options]",
        "",
    ]
    for name in COMMANDS:
        command = importlib.import_module(f"hotloop.cli.{name}")
        lines.append(f"  {name:<12} {command.HELP}")
    lines += ["", "Begin with: hotloop run train.py", "`hotloop COMMAND --help` says more."]
    return "\n".join(lines)
