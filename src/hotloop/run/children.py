"""Lets a program started by another process of the run join it."""

from __future__ import annotations

import os
import sys

from hotloop.run.current import current_session
from hotloop.run.naming import STARTED
from hotloop.run.session import Session
from hotloop.run.settings import Settings


def join_from_environment() -> None:
    """In a process that has just started: join the run that its parent is part of."""
    arguments = " ".join(sys.orig_argv)
    if "multiprocessing.resource_tracker" in arguments or current_session() is not None:
        return
    settings = Settings.from_environment()
    if os.path.isdir(settings.folder):
        only_forks = "multiprocessing.forkserver" in arguments
        Session(settings, role=STARTED).start(only_forks=only_forks)
