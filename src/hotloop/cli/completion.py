"""Print a script that lets a shell complete hotloop's commands and options.

bash    hotloop completion bash > ~/.local/share/bash-completion/completions/hotloop
zsh     hotloop completion zsh > ~/.zfunc/_hotloop     (a folder of your $fpath)
fish    hotloop completion fish > ~/.config/fish/completions/hotloop.fish
"""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from hotloop.cli import COMMANDS
from hotloop.errors import HotloopError
from hotloop.phases import PHASES
from hotloop.report.console.terminal import write

SHELLS = ("bash", "fish", "powershell", "tcsh", "zsh")

#: Values that are files or folders, by their name in the parsers.
_FILES = ("output", "plan")
_FOLDERS = ("capture", "first", "second", "folder", "resume")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def main(options: argparse.Namespace) -> int:
    try:
        shtab: Any = importlib.import_module("shtab")
    except ImportError:
        raise HotloopError("completion needs shtab: pip install 'hotloop[completion]'") from None
    write(sys.stdout, shtab.complete(_whole_parser(shtab), options.shell))
    return 0


def _whole_parser(shtab: Any) -> argparse.ArgumentParser:
    """All commands in one parser; when hotloop runs, only the chosen one is loaded."""
    parser = argparse.ArgumentParser(prog="hotloop")
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    commands = parser.add_subparsers()
    for name, what in COMMANDS.items():
        module = importlib.import_module(f"hotloop.cli.{name}")
        command = commands.add_parser(name, help=what)
        module.add_arguments(command)
        if hasattr(module, "parse"):  # the rest is the program and its own arguments
            command.add_argument("program", nargs=argparse.REMAINDER).complete = shtab.FILE  # type: ignore[attr-defined]
        for action in command._actions:
            _complete_values(action, shtab)
    return parser


def _complete_values(action: argparse.Action, shtab: Any) -> None:
    label = str(action.metavar or "")
    if label.startswith("{") and not action.choices:
        action.choices = label.strip("{}").split(",")
    elif label == "PHASE":
        action.choices = list(PHASES)
    elif action.dest in _FILES:
        action.complete = shtab.FILE  # type: ignore[attr-defined]
    elif action.dest in _FOLDERS:
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
