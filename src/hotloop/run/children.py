"""Lets a program started by another process of the run join it."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from uuid import uuid4

from hotloop.run.current import current_session
from hotloop.run.naming import STARTED
from hotloop.run.session import Session
from hotloop.run.settings import Settings

#: The program that every Ray worker runs.
_RAY_WORKER = "default_worker.py"


def _remove(folder: str, made_by: int) -> None:
    if os.getpid() == made_by:  # not a forked child of that process
        shutil.rmtree(folder, ignore_errors=True)


def join_from_environment() -> None:
    """In a process that has just started: join the run that its parent is part of."""
    arguments = " ".join(sys.orig_argv)
    if "multiprocessing.resource_tracker" in arguments or current_session() is not None:
        return
    settings = Settings.from_environment()
    if not os.path.isdir(settings.folder):
        if _RAY_WORKER not in arguments:
            return
        # A Ray worker on a machine without that folder: Ray brings its files to the driver.
        here = os.path.join(tempfile.gettempdir(), f"hotloop-{uuid4().hex}")
        atexit.register(_remove, here, os.getpid())
        settings = replace(settings, folder=here, away_from=settings.folder)
    only_forks = "multiprocessing.forkserver" in arguments
    Session(settings, role=STARTED).start(only_forks=only_forks)
