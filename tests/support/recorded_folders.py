"""Folders of recorded runs, made by hand."""

from __future__ import annotations

import json
import os
import platform
import time
from pathlib import Path

from hotloop.capture.window import PhaseDelta, Window
from hotloop.capture.writer import ShardWriter

DAY = 86400.0


def record(folder: Path, command: str = "train.py", end: bool = True) -> Path:
    header = {"pid": 1, "command": [command], "started": 0.0, "host": "elsewhere"}
    folder.mkdir(parents=True)
    writer = ShardWriter(folder, "main", header)
    second = 1_000_000_000
    for number in range(8):
        phases = {"env.step": PhaseDelta(100, second, second, 1, second)}
        begin, stop = number * second, (number + 1) * second
        window = Window(number, number, begin, stop, phases, {"env_steps": 100})
        window.loop_last_ns = stop
        writer.window(window)
    if end:
        writer.end({"reason": "exit", "code": 0})
    else:
        writer.close()
    return folder


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
