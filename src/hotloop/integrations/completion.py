"""What can be typed after `hotloop`, read from the commands' own parsers; `shells` writes it."""

from __future__ import annotations

import argparse
import importlib
import re
from dataclasses import dataclass
from typing import Any

from hotloop.words import PHASES

#: What may stand where a value is asked for, beside a list of words.
FILE, CAPTURE, ANYTHING = "file", "capture", "anything"

#: Values that are files or folders, by how parsers call them.
_FILES = ("output", "folder", "resume", "plan")
#: Folders that `run` leaves; commands in quotes stand in the same place.
_CAPTURES = ("capture", "first", "second")
#: These begin the program, as they do for Python.
_PROGRAM_OPTIONS = ("-m", "-c")
_LISTED = re.compile(r"\{([\w.,-]+)\}")


@dataclass(frozen=True)
class Value:
    """What an option or a place takes."""

    kind: str = ANYTHING
    words: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True)
class Option:
    """One option under all its names."""

    names: tuple[str, ...]
    help: str
    #: None for a switch.
    value: Value | None = None
    repeats: bool = False
    begins_program: bool = False


@dataclass(frozen=True)
class Command:
    """One command: its options, what else it takes, and whether a program follows."""

    name: str
    help: str
    options: tuple[Option, ...]
    places: tuple[Value, ...]
    program: bool

    @property
    def valued(self) -> tuple[str, ...]:
        """Names of options that take a value."""
        return tuple(n for o in self.options if o.value and not o.begins_program for n in o.names)


def commands() -> list[Command]:
    """Every command, as its parser says."""
    from hotloop.cli import COMMANDS, parser_of

    return [_command(name, parser_of(name)) for name in COMMANDS]


def _command(name: str, parser: argparse.ArgumentParser) -> Command:
    module = importlib.import_module(f"hotloop.cli.{name}")
    program = hasattr(module, "parse")
    options, places = [], []
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            options.append(_option(action, program))
        elif not action.option_strings and action.nargs != argparse.REMAINDER:
            places.append(_value(action))
    remainder = any(action.nargs == argparse.REMAINDER for action in parser._actions)
    return Command(name, module.HELP, tuple(options), tuple(places), program or remainder)


def _option(action: argparse.Action, program: bool) -> Option:
    # argparse fills help in as %-formats; what it would print is what a shell shows.
    help = (action.help or "") % {"default": action.default, "prog": "hotloop"}
    return Option(
        tuple(action.option_strings),
        " ".join(help.split()),
        _value(action) if action.nargs != 0 else None,
        isinstance(action, argparse._AppendAction),
        program and action.option_strings[0] in _PROGRAM_OPTIONS,
    )


def _value(action: argparse.Action) -> Value:
    label = str(action.metavar or action.dest)
    listed: Any = action.choices
    if listed is None and (match := _LISTED.fullmatch(label)):
        listed, label = match[1].split(","), action.dest
    if label == "PHASE":
        listed = PHASES
    if listed is not None:
        return Value(words=tuple(map(str, listed)), label=label)
    if action.dest in _CAPTURES or label == "CAPTURE":
        return Value(CAPTURE, label=label)
    return Value(FILE if action.dest in _FILES else ANYTHING, label=label)
