"""Keeps `torch.compile` out of hotloop's own code.

Below a compiled function every frame of Python is compiled that it has not seen, notes of hooks
among them: after a graph ends before `loss.backward()`, the note of that backward pass is next. It
is told to run these as they are. What a compiled function itself calls is still looked into, so
that a stand-in of ours ends no graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType

_COMPILER = "torch._dynamo.eval_frame"


class Untraced:
    """Tells the compiler about every module of hotloop, whichever of the two comes first."""

    def __init__(self) -> None:
        self._skip: Callable[[CodeType], None] | None = None

    def imported(self, name: str) -> None:
        """A module is there."""
        if name == _COMPILER:
            self._skip = getattr(sys.modules[name], "skip_code", None)
            for known in list(sys.modules):
                self._tell(known)
        else:
            self._tell(name)

    def _tell(self, name: str) -> None:
        module = sys.modules.get(name)
        own = name == "hotloop" or name.startswith("hotloop.")
        if self._skip is not None and own and module is not None:
            for code in _codes(module):
                self._skip(code)


def _codes(module: ModuleType) -> Iterator[CodeType]:
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        for each in list(vars(value).values()) if isinstance(value, type) else (value,):
            for function in _functions(each):
                # What a decorator of another module put around it is not ours.
                code = function.__code__
                if code.co_filename == module.__file__:
                    yield from _with_inner(code)


def _functions(value: object) -> Iterator[FunctionType]:
    """The functions in a module's or class's attribute, behind decorators too."""
    if isinstance(value, property):
        parts: list[object] = [value.fget, value.fset, value.fdel]
    elif isinstance(value, (staticmethod, classmethod)):
        parts = [value.__func__]
    else:
        parts = [value]
    for part in parts:
        if isinstance(part, FunctionType):
            yield part
            yield from _functions(getattr(part, "__wrapped__", None))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _with_inner(inner)
