"""A function of the program's own with every call in a phase, for `shapes` and `named`.

A library's methods can be replaced by the core's own callable. A program's functions are handled
in more ways (`jax.jit` keeps weak references to them, `tf.function` reads their source,
`torch.compile` looks inside, workers get them by value), so what stands in for one is a plain
Python function.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from hotloop.hooks.alter import altered
from hotloop.measure.profiler import Profiler

Function = Callable[..., Any]

#: Where a stand-in keeps itself. Other decorators copy a function's attributes, so that the name
#: alone proves nothing: only a function that finds itself there is a stand-in.
_MARK = "__hotloop_stand_in__"

#: Where a hook that a library itself has put around another hook keeps that one.
AROUND = "__hotloop_around__"

#: Decorators around one function; more than anybody stacks, and an end where they go in a circle.
_MOST_LAYERS = 16


class Entry:
    """What a stand-in calls: the function in its phase, or the function alone."""

    __slots__ = ("call", "function")

    def __init__(self, function: Function, call: Function | None = None) -> None:
        self.function = function
        self.call = call or function

    def switch_off(self) -> None:
        """From now on nothing is measured here."""
        self.call = self.function

    def __reduce__(self) -> Any:
        # A process that gets this by value gets the function: its hooks are its own.
        return Entry, (self.function,)


def stand_in(entry: Entry) -> Function:
    """A plain function that does what the entry's function does, by calling the entry."""
    torch = sys.modules.get("torch")
    compiling = getattr(getattr(torch, "compiler", None), "is_dynamo_compiling", None)
    function = entry.function
    call: Any

    if compiling is None:

        def call(*args: Any, **kwargs: Any) -> Any:
            return entry.call(*args, **kwargs)

    else:

        def call(*args: Any, **kwargs: Any) -> Any:
            if compiling():
                return function(*args, **kwargs)
            return entry.call(*args, **kwargs)

    try:
        functools.update_wrapper(call, function)
    except Exception:
        call.__wrapped__ = function  # something callable with odd attributes
    setattr(call, _MARK, call)
    return call  # type: ignore[no-any-return]


def is_stand_in(function: Any) -> bool:
    """Whether this is a stand-in, not a copy of its attributes."""
    return getattr(function, _MARK, None) is function and function is not None


def unwrapped(function: Any) -> Any:
    """The program's own function or method behind a stand-in; anything else as it is."""
    if isinstance(function, MethodType) and is_stand_in(function.__func__):
        return MethodType(function.__func__.__wrapped__, function.__self__)  # type: ignore[attr-defined]
    return function.__wrapped__ if is_stand_in(function) else function


def written(function: Any) -> Any:
    """The function that somebody wrote, behind its decorators and hotloop's stand-ins."""
    seen = 0
    while isinstance(getattr(function, "__wrapped__", None), FunctionType) and seen < _MOST_LAYERS:
        function = function.__wrapped__
        seen += 1
    return function


def timed(
    profiler: Profiler,
    function: Function,
    phases: tuple[str, ...],
    after: Function | None = None,
    outermost: bool = True,
) -> Function:
    """`function` inside one phase or several, the outermost first; whatever kind it is of.

    A generator counts while it runs, not while its consumer does.
    """
    if _is_resumed(function):
        return profiler.profile_function(phases[-1])(function)
    call = altered(function, *phases)
    for place, phase in enumerate(reversed(phases)):
        region = profiler.core.region(phase)
        last = place == len(phases) - 1
        call = region.wrap(call, after=after if last else None, outermost=outermost)
    return call


def _is_resumed(function: Any) -> bool:
    return (
        inspect.isgeneratorfunction(function)
        or inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
    )


def at_first(entry: Entry, call: Function, first: Callable[[], None]) -> None:
    """Let the entry call `call`, and `first` once before it; afterwards that costs nothing."""

    def call_first(*args: Any, **kwargs: Any) -> Any:
        if entry.call is call_first:
            entry.call = call
            first()
        return call(*args, **kwargs)

    entry.call = call_first


def plain_function(raw: Any) -> FunctionType | None:
    """The Python function in a class's or module's attribute, if it is one."""
    if isinstance(raw, (staticmethod, classmethod)):
        raw = raw.__func__
    return raw if isinstance(raw, FunctionType) else None


def put_in_place(owner: Any, name: str, raw: Any, function: Function) -> Callable[[], None]:
    """Let `owner.name` be `function`, bound as `raw` was. Returns what undoes it."""
    kind = type(raw) if isinstance(raw, (staticmethod, classmethod)) else None
    placed = kind(function) if kind else function
    setattr(owner, name, placed)
    return undo_of(owner, name, raw, placed)


def undo_of(owner: Any, name: str, raw: Any, placed: Any) -> Callable[[], None]:
    """Gives `owner.name` back, unless the program has put something else there since."""

    def undo() -> None:
        now = vars(owner).get(name)
        if now is placed or getattr(now, AROUND, None) is placed:
            setattr(owner, name, raw)

    return undo
