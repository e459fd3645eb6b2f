"""One run in a process of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hotloop.experiment.command import parse_command
from hotloop.experiment.launch import (
    Launch,
)


def launch(folder: Path, text: str, **more: object) -> Launch:
    command = replace(parse_command(text), folder=str(folder))
    return Launch("first", command, str(folder / "out" / "first"), **more)  # type: ignore[arg-type]
