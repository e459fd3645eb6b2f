"""Redirects the calls of a function to a hook without replacing the function.

The native core redirects Python functions, builtin functions, builtin methods and JAX's jitted
functions in place (`native/inplace.c`): identity, signature, pickling and weak references stay
those of the program's own object. Other callables, and all of them without the native core, are
replaced in their owner.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, ModuleType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from hotloop.hooks.protocols import Function, Note, Undo, Wrapper
from hotloop.measure.core import native_parts

_Kind = TypeVar("_Kind")

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

#: Maximum number of decorators around one function, which also ends cycles.
_MOST_LAYERS = 16

#: Types of compiled functions that are hooked in place: `PjitFunction` of JAX.
compiled_types: set[type] = set()


def redirect(core: Any, owner: Any, name: str, make: Wrapper, weak: bool = False) -> Undo:
    """Redirect calls of `owner.name` to `make(original)`. Returns a callable that undoes it.

    `weak`: the function may die while it is hooked, as those of a class that is made as the program
    runs; so neither `make` nor what it returns may keep `owner`.
    """
    raw = raw_attribute(owner, name)
    detach = core.attach(function_in(raw), make, weak)
    if detach is None:
        return replace(owner, name, make)
    if name == "__init__" and name in vars(owner):
        # Call sites that are specialised for this class enter its old `__init__`.
        setattr(owner, name, raw)
    return detach  # type: ignore[no-any-return]


def replace(owner: Any, name: str, make: Wrapper) -> Undo:
    """Let `owner.name` be `make(original)`, bound in the same way."""
    inherited = isinstance(owner, type) and name not in vars(owner)
    raw = raw_attribute(owner, name)
    made = make(function_in(raw))
    placed = type(raw)(made) if isinstance(raw, (staticmethod, classmethod)) else made
    setattr(owner, name, placed)

    def undo() -> None:
        # What the program has put there since is kept, unless it is a decorator around the hook.
        if not _is_around(vars(owner).get(name), placed):
            return
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, raw)

    return undo


def raw_attribute(owner: object, name: str) -> object:
    """An attribute as it is stored: a class's methods unbound."""
    if not isinstance(owner, type):
        return getattr(owner, name)
    for base in owner.__mro__:
        if name in vars(base):
            return vars(base)[name]
    raise AttributeError(f"{owner.__name__} has no {name}")


def function_in(raw: Any) -> Any:
    """The function of a static or class method; anything else unchanged."""
    return raw.__func__ if issubclass(type(raw), (staticmethod, classmethod)) else raw


def is_really(value: object, kind: type[_Kind] | tuple[type[_Kind], ...]) -> TypeGuard[_Kind]:
    """Whether a value is of this type, or of one of these, without reading its `__class__`.

    `isinstance` reads it. That may be a property, and a lazy proxy then loads its target.
    """
    return issubclass(type(value), kind)


def is_defined_in(module: ModuleType, value: type | FunctionType) -> bool:
    """Whether a module has defined this; a class that `type` has made may have no module."""
    return getattr(value, "__module__", None) == module.__name__


def wrapped_by(function: Any) -> Any:
    """What a decorator has wrapped, or None.

    A module and an object whose class computes attributes may run code of the program: they are
    not asked. Any other may still raise anything.
    """
    cls = type(function)
    try:
        if issubclass(cls, ModuleType) or not is_really(
            cls.__getattribute__, WrapperDescriptorType
        ):
            return None
        if hasattr(cls, "__getattr__"):
            return object.__getattribute__(function, "__wrapped__")
        return function.__wrapped__
    except Exception:
        return None


def written(function: object) -> Any:
    """The innermost function, behind its decorators."""
    for _ in range(_MOST_LAYERS):
        inner = wrapped_by(function)
        if not isinstance(inner, FunctionType):
            break
        function = inner
    return function


def _is_around(outer: object, placed: object) -> bool:
    for _ in range(_MOST_LAYERS):
        if outer is placed or outer is None:
            break
        outer = wrapped_by(outer)
    return outer is placed


def is_abstract(raw: Any) -> bool:
    """Whether this is an abstract method."""
    try:
        return bool(raw.__isabstractmethod__)
    except Exception:
        return False


def plain_function(raw: object) -> FunctionType | None:
    """The Python function in a class's or module's attribute, if it is one."""
    function = function_in(raw)
    return function if is_really(function, FunctionType) else None


def function_behind(raw: object) -> FunctionType | None:
    """The Python function in a class's attribute, even if it was compiled."""
    function = function_in(raw)
    return plain_function(written(function) if type(function) in compiled_types else function)


def is_awaited(function: object) -> bool:
    """Whether a call only makes a coroutine or an asynchronous generator."""
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def at_first_call(core: object, owner: object, name: str, first: Callable[..., None]) -> Undo:
    """Call `first` before the next call of `owner.name`, with the same arguments; afterwards this
    costs nothing.
    """

    def once(*args: object, **kwargs: object) -> None:
        # Another thread may be here before the hook is known by its undo.
        for undo in done:
            undo()
        try:
            first(*args, **kwargs)
        except Exception:
            pass  # an error of a hook is not the program's

    done: list[Undo] = []
    done.append(redirect(core, owner, name, lambda original: before(core, once, original)))
    return done[0]


def before(core: object, first: Callable[..., None], original: Function) -> Function:
    """`original`, with a call of `first` before each of its calls, with the same arguments."""
    native = native_parts(core)
    if native is not None:
        return native.Before(first, original)  # type: ignore[no-any-return]

    def call(*args: object, **kwargs: object) -> object:
        first(*args, **kwargs)
        return original(*args, **kwargs)

    return call


def time_as(
    context: HookContext,
    original: Function,
    phases: tuple[str, ...],
    after: Note | None = None,
    outermost: bool = True,
) -> Function:
    """`original` inside one phase or several, the outermost first."""
    call = context.altered(original, *phases)
    for phase in reversed(phases):
        note = after if phase == phases[0] else None
        call = context.core.region(phase).wrap(call, after=note, outermost=outermost)
    return call
