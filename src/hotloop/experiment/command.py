"""A training program as a user writes it: `train.py --turbo`, `-m package`, `A=1 train.py`."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from hotloop.errors import HotloopError
from hotloop.masking import mask_arguments, mask_text

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python(\d+(\.\d+)?)?(\.exe)?")


@dataclass(frozen=True)
class Command:
    """A program with its arguments, and hotloop's changes around it."""

    #: The program and its arguments, as `hotloop run` takes them.
    words: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    #: Further options of `hotloop run`.
    options: tuple[str, ...] = ()
    python: str = sys.executable
    #: The node on which it runs; None is this machine.
    folder: str | None = None

    def __str__(self) -> str:
        """The command with secrets masked, to show and store."""
        return shown(self.typed())

    def typed(self) -> str:
        """As a user would type it."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*settings, shlex.join(self.words)])

    def argv(self, capture: str, stop_after: str | None) -> list[str]:
        """The whole command line of one run."""
        stop = ["--stop-after", stop_after] if stop_after else []
        run = [self.python, "-m", "hotloop", "run", "-q", "-o", capture, *stop, *self.options]
        return [*run, "--", *self.words]

    def with_arguments(self, arguments: tuple[str, ...], without: tuple[str, ...] = ()) -> Command:
        """The same program with some arguments removed and others added."""
        kept = tuple(word for word in self.words if word not in without)
        return replace(self, words=(*kept, *arguments))


def shown(written: str) -> str:
    """A command, or part of one, for display: anything that looks like a secret is masked."""
    try:
        words = shlex.split(written)
    except ValueError:
        return mask_text(written)
    masked = mask_arguments(words)
    return written if masked == words else shlex.join(masked)


def parse_command(written: str | list[str]) -> Command:
    """A command from its text or its words; raises `HotloopError` if it is not valid."""
    text = written if isinstance(written, str) else shlex.join(written)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise HotloopError(f"{text!r}: {str(error).lower()}") from None
    environment: dict[str, str] = {}
    while words and (match := _ASSIGNMENT.fullmatch(words[0])):
        environment[match[1]] = match[2]
        words.pop(0)
    python = sys.executable
    if words and _PYTHON.fullmatch(Path(words[0]).name):
        # A bare `python` is the one that runs hotloop; a path is the one that it names.
        if os.path.dirname(words[0]):
            python = words[0]
        words.pop(0)
    elif words[:2] == ["hotloop", "run"]:
        words = words[2:]
    if not words:
        raise HotloopError(
            f"{text!r}: no program to run; write it as for `hotloop run`: train.py …"
        )
    if words[0] in ("-m", "-c"):
        if len(words) < 2:
            needed = "a module" if words[0] == "-m" else "code"
            raise HotloopError(f"{text!r}: {words[0]} needs {needed}")
    elif words[0].startswith("-"):
        raise HotloopError(f"{text!r}: begins with an option; start with the program: train.py …")
    return Command(tuple(words), environment, python=python)


def check_exists(command: Command) -> None:
    """Fail before anything runs if a script does not exist."""
    name = command.words[0]
    if name in ("-m", "-c"):
        return
    if not (Path(command.folder or ".") / name).exists():
        raise HotloopError(f"{name}: no such program")


def short_names(first: Command, second: Command) -> tuple[str, str]:
    """The difference between two commands, if short; otherwise "first" and "second"."""
    sides = []
    for own, other in ((first, second), (second, first)):
        settings = [
            mask_text(f"{k}={v}")
            for k, v in own.environment.items()
            if other.environment.get(k) != v
        ]
        masked = zip(own.words, mask_arguments(list(own.words)), strict=True)
        words = [shown for word, shown in masked if word not in other.words]
        options = [word for word in own.options if word not in other.options]
        sides.append(" ".join([*settings, *words, *options]))
    if sides[0] == sides[1] or not all(len(side) <= 24 for side in sides) or not any(sides):
        return "first", "second"
    return sides[0] or "as it is", sides[1] or "as it is"
