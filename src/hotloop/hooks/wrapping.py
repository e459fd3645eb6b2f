"""Hooks functions for which a plain region is not enough.

Each helper takes the context of the run and returns a `Wrapper` for `Target.wrapper`: called with
the original function, it returns the replacement. A choice or note that a table adds never raises
into the program: the error is recorded in `context.failures`, and the call is made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from hotloop.hooks.protocols import Foreign, Function, Note, Region, Undo, Wrapper
from hotloop.hooks.redirect import redirect
from hotloop.measure.core import Core

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

T = TypeVar("T")


def guarded(context: HookContext, what: str, call: Callable[..., T]) -> Callable[..., T | None]:
    """The function, with its errors recorded under `what` and None returned instead."""

    def safe(*args: object, **kwargs: object) -> T | None:
        try:
            return call(*args, **kwargs)
        except Exception as error:
            context.failures[what] = repr(error)
            return None

    return safe


def timed(
    context: HookContext,
    phase: str,
    unless: tuple[str, ...] | Callable[..., bool] = (),
    after: Note | None = None,
) -> Wrapper:
    """Every call in a region, unless one of these phases is open, or the function says so."""
    region = context.core.region(phase)
    if callable(unless):
        return dispatch(
            context, lambda *args, **kwargs: None if unless(*args, **kwargs) else region, after
        )
    is_open = context.core.is_open

    def wrapper(original: Function) -> Function:
        inside = region.wrap(original, after=after)

        @_like(original)
        def call(*args: object, **kwargs: object) -> object:
            return (original if is_open(*unless) else inside)(*args, **kwargs)

        return call

    return wrapper


def dispatch(
    context: HookContext,
    choose: Callable[..., Region | None],
    after: Note | None = None,
    outermost: bool = False,
) -> Wrapper:
    """Every call in the region that `choose` returns for its arguments; None leaves it alone."""

    def wrapper(original: Function) -> Function:
        chosen = guarded(context, f"the phase of {_name(original)}", choose)
        calls: dict[Region, Function] = {}

        @_like(original)
        def call(*args: object, **kwargs: object) -> object:
            region = chosen(*args, **kwargs)
            if region is None:
                return original(*args, **kwargs)
            inside = calls.get(region)
            if inside is None:
                inside = region.wrap(original, after=after, outermost=outermost)
                calls[region] = inside
            return inside(*args, **kwargs)

        return call

    return wrapper


def observe(context: HookContext, after: Note | None = None, before: Note | None = None) -> Wrapper:
    """No region; notes `before(*args, **kwargs)` and `after(result, *args, **kwargs)` a call."""

    def wrapper(original: Function) -> Function:
        what = f"a note of {_name(original)}"
        first = None if before is None else guarded(context, what, before)
        last = None if after is None else guarded(context, what, after)

        @_like(original)
        def call(*args: object, **kwargs: object) -> object:
            if first is not None:
                first(*args, **kwargs)
            result = original(*args, **kwargs)
            if last is not None:
                last(result, *args, **kwargs)
            return result

        return call

    return wrapper


def suspend(region: Region, is_open: Callable[..., bool]) -> Wrapper:
    """Leave an open region while the function runs, so that the two are siblings."""
    name, leave, enter = region.name, region.exit, region.enter

    def wrapper(original: Function) -> Function:
        @_like(original)
        def call(*args: object, **kwargs: object) -> object:
            if not is_open(name):
                return original(*args, **kwargs)
            leave()
            try:
                return original(*args, **kwargs)
            finally:
                enter()

        return call

    return wrapper


def generator(
    context: HookContext, phase: str, begin: Callable[..., Note | None] | None = None
) -> Wrapper:
    """A generator, timed while it produces an item and not while its consumer has it.

    `begin` is called with the generator's arguments and returns a note for each item.
    """
    region = context.core.region(phase)

    def wrapper(original: Callable[..., Iterator[T]]) -> Callable[..., Iterator[T]]:
        what = f"an item of {_name(original)}"
        begun = None if begin is None else guarded(context, what, begin)

        @_like(original)
        def items(*args: object, **kwargs: object) -> Iterator[T]:
            inner = original(*args, **kwargs)
            found = None if begun is None else begun(*args, **kwargs)
            note = None if found is None else guarded(context, what, found)
            produce = region.wrap(functools.partial(next, inner))
            try:
                while True:
                    try:
                        item = produce()
                    except StopIteration:
                        return
                    if note is not None:
                        note(item)
                    yield item
            finally:
                close = getattr(inner, "close", None)
                if close is not None:
                    close()

        return items

    return wrapper


def count_bytes(
    context: HookContext, calls: str, size: str, bytes_of: Callable[..., int]
) -> Wrapper:
    """Count calls, and the bytes that `bytes_of(result, *args)` finds, in these counters."""
    count = context.core.count

    def note(*seen: object, **named: object) -> None:
        count(calls, 1)
        count(size, bytes_of(*seen, **named))

    return observe(context, after=note)


def put_hook(owner: Foreign, name: str, wrapper: Wrapper) -> Undo:
    """Hook `owner.name` itself, outside any table. Returns a function that removes the hook."""
    return redirect(Core, owner, name, wrapper)


def _like(original: Function) -> Wrapper:
    """`functools.wraps`, also for callables with attributes of an odd kind."""

    def decorate(hook: Function) -> Function:
        try:
            return functools.wraps(original)(hook)
        except Exception:  # nanobind's methods have a `__qualname__` that is not a string
            hook.__wrapped__ = original  # type: ignore[attr-defined]
            return hook

    return decorate


def _name(function: Function) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)
