"""Forks in a process with hotloop's threads.

From Python 3.12 on, `os.fork` warns in a process with several threads. hotloop's must not make a
single-threaded program warn, so the warning is suppressed for exactly that case. The
function object stays the program's own.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

from hotloop.measure.threads import NAME_PREFIX, unnamed_threads

_TASKS = "/proc/self/task"


@functools.cache
def _filter() -> tuple[object, ...]:
    """Ignores the warning where it names this module."""
    text = re.compile(r"This process .*is multi-threaded")
    return ("ignore", text, DeprecationWarning, re.compile(re.escape(__name__)), 0)


def hush_forks(core: Any) -> list[Callable[[], object]]:
    """Suppress the warning about hotloop's threads. Returns callables that undo it."""
    if sys.version_info < (3, 12) or not os.path.isdir(_TASKS):
        return []
    from hotloop.hooks.redirect import redirect

    return [redirect(core, os, name, _hushed) for name in ("fork", "forkpty")]


def _hushed(fork: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fork)
    def hushed(*args: Any, **kwargs: Any) -> Any:
        if not _has_one_thread():
            # From the program's own line: the original would name the one below.
            _warn_of_threads(fork.__name__)
        warnings.filters.insert(0, _filter())  # type: ignore[attr-defined]
        warnings._filters_mutated()  # type: ignore[attr-defined]
        try:
            return fork(*args, **kwargs)
        finally:
            # Not `catch_warnings`: filters belong to all threads. One that stays, because another
            # thread has replaced the list meanwhile, matches nothing but the line above.
            if _filter() in warnings.filters:
                warnings.filters.remove(_filter())  # type: ignore[attr-defined]
            warnings._filters_mutated()  # type: ignore[attr-defined]

    return hushed


def _warn_of_threads(name: str) -> None:
    try:
        warnings.warn(
            f"This process (pid={os.getpid()}) is multi-threaded, use of {name}() may lead to "
            "deadlocks in the child.",
            DeprecationWarning,
            stacklevel=3,
        )
    except Warning:
        pass  # as in `os.fork`, whose warning never becomes an error


def _has_one_thread() -> bool:
    """Whether the program has a single thread, hotloop's left out."""
    try:
        others = sum(not _is_own(task) for task in os.listdir(_TASKS))
    except OSError:
        return False
    return others - unnamed_threads() <= 1


def _is_own(task: str) -> bool:
    try:
        with open(f"{_TASKS}/{task}/comm", "rb") as name:  # may be cut inside a character
            return name.read().startswith(NAME_PREFIX.encode())
    except OSError:
        return True  # it has ended meanwhile, and is nobody's
