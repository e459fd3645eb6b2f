"""Whole training loops in one compiled call: how long one computes, told from outside.

The call returns at once, so its computing is where the program waits for what it returned. A
program that never asks waits for it as Python ends, when nobody measures any more; so it is waited
for a little before that.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable
from typing import Any
from weakref import ref

from hotloop import get_profiler

_core = get_profiler().core
_wait = _core.region("wait")
_loop = _core.region("loop.compiled")

#: Something that each whole loop has returned last, by the loop's name.
_results: dict[str, ref[Any]] = {}


def started(name: str, result: Iterable[Any]) -> None:
    """A whole loop was started; these are the arrays that it will have made."""
    if not _results:
        atexit.register(_wait_at_exit)
    for array in result:
        if hasattr(array, "is_ready"):
            _results[name] = ref(array)
            return


def waiting() -> Any:
    """The region for a wait that begins now: what is computed may be a whole loop."""
    return _loop if _results and any(map(_computes, _results.values())) else _wait


def time_wait(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX that waits, in the phase of what it waits for."""

    def wait(*args: Any, **kwargs: Any) -> Any:
        if _core.is_open("wait", "loop.compiled"):
            return original(*args, **kwargs)
        region = waiting()
        region.enter()
        try:
            return original(*args, **kwargs)
        finally:
            region.exit()

    return wait


def _computes(result: ref[Any]) -> bool:
    array = result()
    return array is not None and not array.is_deleted() and not array.is_ready()


def _wait_at_exit() -> None:
    for result in _results.values():
        array = result()
        if array is not None and _computes(result):
            array.block_until_ready()
    _results.clear()
