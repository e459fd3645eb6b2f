"""Names of the processes of a run, and of their files in the capture."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

T = TypeVar("T")

MAIN = "main"
#: Roles of processes that have no name yet when they join.
FORKED, STARTED = "child", "program"

#: Hosts that share a folder and have a process of the same number and name.
_MOST_HOSTS = 1000


def process_name(role: str) -> str:
    """The name of a process for people; read late for a child, when it has its name."""
    return _child_name(role) if role in (FORKED, STARTED) else role


def create_file(folder: Path, role: str, create: Callable[[Path, str], T]) -> T:
    """Create a file for this process in the capture, whatever names others use."""
    if role == MAIN:
        return create(folder, MAIN)
    stem = f"{re.sub(r'[^A-Za-z0-9_-]+', '-', process_name(role))[:40]}-{os.getpid()}"
    for attempt in range(_MOST_HOSTS):
        try:
            return create(folder, f"{stem}-{attempt}" if attempt else stem)
        except FileExistsError:
            continue  # another host's process of that number
    raise FileExistsError(stem)


def _child_name(role: str) -> str:
    rank = os.environ.get("RANK", "")
    if rank.isdigit():  # torchrun and similar launchers
        return f"rank-{rank}"
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None:
        process = multiprocessing.current_process()
        if process.name != "MainProcess":
            return _by_target(process) or str(process.name)
    if role == STARTED and sys.argv and sys.argv[0] not in ("", "-c", "-m"):
        return Path(sys.argv[0]).stem
    return FORKED


#: A name that multiprocessing made up itself: `SpawnProcess-3`.
_MADE_UP = re.compile(r"^(?:Fork|Spawn|ForkServer)?Process((?:[-:]\d+)+)$")


def _by_target(process: Any) -> str | None:
    """`rollout-3` for `SpawnProcess-3`: named after the program's function that it runs."""
    made_up = _MADE_UP.match(str(process.name))
    target: Any = getattr(process, "_target", None)
    if made_up is None or not issubclass(type(target), FunctionType):
        return None  # an object of the program may return anything
    name = target.__name__.strip("_")
    if target.__module__ not in ("__main__", "__mp_main__") or not name:
        return None
    return f"{name}{made_up[1]}"
