"""Chooses the region clock: the native one, or its Python twin if that could not be built."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.measure.twin import Core, Sampler

    NATIVE: bool
    WHY_TWIN: str | None
else:
    WHY_TWIN = None
    if os.environ.get("HOTLOOP_PURE", "") not in ("", "0"):
        WHY_TWIN = "HOTLOOP_PURE is set"
    elif sysconfig.get_config_var("Py_GIL_DISABLED"):
        WHY_TWIN = "the native core needs the GIL, which this build of Python does without"
    else:
        try:
            from hotloop.measure._native import Core, Sampler
        except ImportError as error:
            WHY_TWIN = f"the native core cannot be imported ({error})"
    if WHY_TWIN is not None:
        from hotloop.measure.twin import Core, Sampler
    NATIVE = WHY_TWIN is None
    if NATIVE:
        from hotloop.measure import _native

        # The demo programs lie in the package, and are programs all the same.
        _package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        _native.set_own_folder(os.path.join(_package, ""), os.path.join(_package, "workloads", ""))

__all__ = [
    "NATIVE",
    "WHY_TWIN",
    "Core",
    "Sampler",
    "make_mark",
    "make_own_thread",
    "native_constant",
    "native_parts",
    "print_error",
    "run_at_bottom",
]


def native_parts(core: Any) -> Any:
    """The native module of a core, which has parts of the hooks as well; None for the twin."""
    if not type(core).__module__.endswith("_native"):
        return None
    from hotloop.measure import _native  # type: ignore[attr-defined]

    return _native


class _Mark:
    """What `native/marks.c` does, for the twin: calls back when it is negated."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback

    def __neg__(self) -> None:
        self._callback()


def make_mark(callback: Callable[[], None]) -> Any:
    """A constant for the program's code that calls back when it is negated."""
    if not NATIVE:
        return _Mark(callback)
    from hotloop.measure import _native  # type: ignore[attr-defined]

    return _native.Mark(callback)


def run_at_bottom(run: CodeType | Callable[..., Any], *args: Any) -> None:
    """Execute code in its globals, or call a function, without a frame of hotloop below it.

    The twin cannot hide frames; it runs the same things on top of them.
    """
    if NATIVE:
        from hotloop.measure import _native  # type: ignore[attr-defined]

        _native.run_at_bottom(run, *args)
    elif isinstance(run, CodeType):
        exec(run, *args)
    else:
        run(*args)


def print_error(error: BaseException) -> None:
    """Handle an uncaught error of the program as Python does."""
    if NATIVE:
        from hotloop.measure import _native  # type: ignore[attr-defined]

        _native.run_at_bottom(_native.print_error, error)
    else:
        sys.excepthook(type(error), error, error.__traceback__)


def make_own_thread(step: Callable[[], float | None]) -> Any:
    """A thread that Python knows of only while it calls `step`."""
    if NATIVE:
        from hotloop.measure import _native  # type: ignore[attr-defined]

        return _native.OwnThread(step)
    from hotloop.measure.twin.own_thread import OwnThread

    return OwnThread(step)


def native_constant(name: str, otherwise: int) -> int:
    """A constant that the native module exports; `otherwise` without the module."""
    from hotloop import measure

    return int(getattr(getattr(measure, "_native", None), name, otherwise)) if NATIVE else otherwise
