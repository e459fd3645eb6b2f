"""The marker in an experiment's folder: hotloop made it, and this process writes there."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from hotloop.capture import private

SCHEMA = "hotloop.folder/1"
NAME = "experiment.json"


@dataclass(frozen=True)
class Marker:
    """The kind of experiment in a folder, and the process that runs it."""

    kind: str
    pid: int
    host: str


def write_marker(folder: Path, kind: str) -> None:
    """Mark a folder as this process's experiment."""
    document = {"schema": SCHEMA, "kind": kind, "pid": os.getpid(), "host": platform.node()}
    private.write_text(folder / NAME, json.dumps(document) + "\n")


def read_marker(folder: Path) -> Marker | None:
    """The marker of a folder; None where hotloop wrote none."""
    try:
        document = json.loads((folder / NAME).read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            return None
        return Marker(str(document["kind"]), int(document["pid"]), str(document["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
