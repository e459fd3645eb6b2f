"""Environments recognized by what their code does, whatever its names and language.

A step takes an action, changes the object, and returns the result as a tuple of two to five values.
Its first call decides (`first_steps`). A reset takes nothing and sets the attributes that the step
changes.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable
from types import CodeType, FunctionType
from typing import Any

from hotloop.hooks.program import vocabulary as v
from hotloop.hooks.program.instructions import instructions
from hotloop.hooks.redirect import is_really, written

#: (observation, reward, done) up to (observation, reward, terminated, truncated, info).
RESULT_PARTS = range(3, 6)
#: (observation, reward) of a simulator without episodes.
ENDLESS_PARTS = range(2, 3)
#: A step is given an action, at most with a state or a random generator.
MOST_PARAMETERS = 2
#: A reset sets at least this part of the attributes that the step changes.
SETS_AGAIN = 0.5


def the_step(functions: dict[str, FunctionType], cls: type) -> str | None:
    """The one method of a class that steps an environment."""
    for parts in (RESULT_PARTS, ENDLESS_PARTS):
        names = [name for name, each in functions.items() if _looks_like_step(each, cls, parts)]
        if names:
            return "step" if "step" in names else names[0] if len(names) == 1 else None
    return None


def _looks_like_step(function: FunctionType, cls: type, parts: range) -> bool:
    """Whether a method takes an action, changes its object and returns the parts of a step."""
    code = function.__code__
    given = v.parameters_of(function, bound=True)
    if not 1 <= len(given) <= MOST_PARAMETERS or code.co_flags & _NOT_PLAIN:
        return False
    if not _returns_parts(code, parts) or not changed_by(function, cls):
        return False
    # An update may return losses and whether to stop early.
    return not _steps_another(function, cls) and not v.gradient_names(v.reached(function, cls))


def resets(function: FunctionType, stepping: FunctionType, cls: type) -> bool:
    """Whether a method begins an episode of the object that another one steps."""
    if _required(function) or function is stepping:
        return False
    changed = changed_by(stepping, cls)
    again = changed & changed_by(function, cls)
    return bool(again) and len(again) >= SETS_AGAIN * len(changed)


def changed_by(function: FunctionType, cls: type) -> set[str]:
    """Attributes that a method sets, or the methods of its class that it calls."""
    own = [each for each in v.reached(function, cls) if _is_method(each, cls)]
    return {name for each in (function, *own) for name in _attributes_set(each.__code__)}


_NOT_PLAIN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _returns_parts(code: CodeType, parts: range = RESULT_PARTS) -> bool:
    """Whether the code builds a tuple with the parts that a step returns, and returns it."""
    return any(
        made.opname == "BUILD_TUPLE" and made.arg in parts and then.opname == "RETURN_VALUE"
        for made, then in itertools.pairwise(instructions(code))
    )


def _attributes_set(code: CodeType) -> Iterable[str]:
    return (str(i.argval) for i in instructions(code) if i.opname == "STORE_ATTR")


def _is_method(function: FunctionType, cls: type) -> bool:
    return any(function in map(_plain, vars(owner).values()) for owner in cls.__mro__)


def _plain(raw: Any) -> Any:
    return written(getattr(raw, "__func__", raw))


def _required(function: FunctionType) -> int:
    """Parameters that a call has to give, without `self`."""
    parameters = v.parameters_of(function, bound=True)
    return len(parameters) - len(function.__defaults__ or ())


def _steps_another(function: FunctionType, cls: type) -> bool:
    """Whether a method calls what looks like a step of another class: it plays, or collects."""
    called = v.used_names(function.__code__) - {function.__name__, *vars(cls)}
    if called & {"step", "step_async"}:
        return True
    classes = [each for each in function.__globals__.values() if is_really(each, type)]
    return any(
        _is_simple_step(_plain(raw))
        for each in classes
        if each is not cls and each.__module__ == function.__module__
        for name, raw in vars(each).items()
        if name in called
    )


def _is_simple_step(function: Any) -> bool:
    if not is_really(function, FunctionType):
        return False
    given = v.parameters_of(function, bound=True)
    return 1 <= len(given) <= MOST_PARAMETERS and _returns_parts(function.__code__)
