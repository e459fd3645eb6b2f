"""Forks in a process with hotloop's threads.

Since Python 3.12, `os.fork` warns in a process with several threads. hotloop's threads must not
cause that warning in a single-threaded program, so it is suppressed in exactly that case. The
function object itself stays the same.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

from hotloop.measure.core import Core
from hotloop.measure.own_threads import NAME_PREFIX
from hotloop.measure.unpatched import listdir, open_file

_TASKS = "/proc/self/task"
#: How the warning begins.
_TEXT = r"This process .*is multi-threaded"


def hush_forks(core: Core) -> list[Callable[[], object]]:
    """Suppress the warning about hotloop's threads. Returns callables that undo it."""
    if sys.version_info < (3, 12) or not os.path.isdir(_TASKS):
        return []
    from hotloop.hooks.redirect import redirect

    return [redirect(core, os, name, _hushed) for name in ("fork", "forkpty")]


def _hushed(fork: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fork)
    def hushed(*args: Any, **kwargs: Any) -> Any:
        if not _has_one_thread():
            return fork(*args, **kwargs)
        # Not `catch_warnings`, which replaces the list. No other thread of the program could warn.
        ignore = ("ignore", re.compile(_TEXT), DeprecationWarning, None, 0)
        warnings.filters.insert(0, ignore)  # type: ignore[attr-defined]
        warnings._filters_mutated()  # type: ignore[attr-defined]
        try:
            return fork(*args, **kwargs)
        finally:
            if ignore in warnings.filters:
                warnings.filters.remove(ignore)  # type: ignore[attr-defined]
            warnings._filters_mutated()  # type: ignore[attr-defined]

    return hushed


def _has_one_thread() -> bool:
    """Whether the program has a single thread, hotloop's left out."""
    try:
        others = sum(not _is_own(task) for task in listdir(_TASKS))
    except OSError:
        return False
    return others <= 1


def _is_own(task: str) -> bool:
    try:
        with open_file(f"{_TASKS}/{task}/comm", "rb") as name:  # may be cut inside a character
            return name.read().startswith(NAME_PREFIX.encode())
    except OSError:
        return True  # it has ended meanwhile
