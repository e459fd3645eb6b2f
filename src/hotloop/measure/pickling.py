"""Pickles hotloop's objects inside a program, for other processes.

Programs send their classes and functions to workers (cloudpickle does so by value), and with them
whatever they refer to: `hotloop.profile`, a region, a hooked method. The other process must get
its own profiler and the plain function, never those of this process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.measure.core import Core
    from hotloop.measure.profiler import Profiler


def shared_profiler() -> Profiler:
    """The global profiler of the process that unpickles."""
    from hotloop.measure.shared import get_profiler

    return get_profiler()


def shared_core() -> Core:
    """The core of that profiler, whose methods `profile` and `count` are."""
    return shared_profiler().core


def same(function: Callable[..., Any]) -> Callable[..., Any]:
    """What unpickling a hooked function gives: the function, for that process to hook."""
    return function


def reduce_timed(timed: Any, function: Callable[..., Any]) -> Any:
    """A hooked function by its name if that finds it, otherwise the function itself."""
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is timed:
        return function.__qualname__
    return same, (function,)
