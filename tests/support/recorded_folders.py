"""Folders of recorded runs, made by hand."""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path

from written_shards import write_run

DAY = 86400.0


def record(folder: Path, command: str = "train.py", end: bool = True) -> Path:
    header = {"pid": 1, "command": [command], "started": 0.0, "host": "elsewhere"}
    return write_run(folder, [1_000_000_000] * 8, end=end, **header)


def aged(folder: Path, days: float) -> Path:
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - days * DAY,) * 2)
    return folder


def experiment(folder: Path, kind: str, pid: int, host: str | None = None) -> Path:
    """An experiment's folder as it is while its runs are made."""
    record(folder / "pair-1" / "a")
    (folder / "pair-1" / "a.log").write_text("")
    (folder / "pair-1" / "a.json").write_text("{}")
    (folder / "pair-1" / "fix-0.patch").write_text("")
    (folder / "pair-1" / "patched").mkdir()
    (folder / "pair-1" / "patched" / "train.py").write_text("")
    document = {"schema": "hotloop.folder/1", "kind": kind, "pid": pid}
    document["host"] = platform.node() if host is None else host
    (folder / "experiment.json").write_text(json.dumps(document))
    return folder
