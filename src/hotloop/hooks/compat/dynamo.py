"""Keeps `torch.compile` from compiling hotloop's own code and from seeing its hooks.

Below a compiled function, every new Python frame is compiled, including notes of hooks: if a graph
ends before `loss.backward()`, the next frame is the note of that backward pass. So the compiler is
suspended while hooks run their own code and everything it calls (`native/hidden.c`), and it skips
functions of hotloop that a program calls itself.

Functions called by a compiled function are compiled as if they had no hook. dynamo checks whether a
function is exactly of type `function`, which a hooked one is not in Python 3.11
(`inplace_switch.c`). While a frame is compiled, all hooked functions get that type back; while
compiled code runs, those in a graph have it, for its guards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from hotloop.hooks.context import HookContext
from hotloop.hooks.protocols import Function, Wrapper
from hotloop.hooks.redirect import at_first_call, redirect, wrapped_by
from hotloop.measure.core import native_parts

_COMPILER = "torch._dynamo.eval_frame"

#: Where frames are compiled, and where a function becomes a part of a graph.
_CONVERSION = "torch._dynamo.convert_frame"
_ENTRIES = ("_compile", "fullgraph_capture")
_VARIABLES = "torch._dynamo.variables.functions"
#: Modules that matter here: torch's compiler, and those that it must skip.
_CONCERNS = ("torch._dynamo", "hotloop")
#: Whether types differ, in the versions of Python that torch has.
_TYPES_DIFFER = sys.version_info[:2] == (3, 11) or sys.version_info >= (3, 13)


class DynamoCompatibility:
    """Makes the compiler skip every module of hotloop, in either order of import."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._core: Any = context.profiler.core
        self._skip: Callable[[CodeType], None] | None = None
        #: Modules of the compiler that were seen; `importlib` is asked for the same ones again.
        self._seen: set[str] = set()

    def imported(self, name: str) -> None:
        """Called when a module has been imported."""
        if not name.startswith(_CONCERNS) or name in self._seen:
            return  # nearly all of them: a program imports a thousand modules or more
        self._seen.add(name)
        if name == _COMPILER:
            self._skip = getattr(sys.modules[name], "skip_code", None)
            self._watch_runs(sys.modules[name])
            for known in list(sys.modules):
                self._skip_own_code(known)
        else:
            self._skip_own_code(name)
            self._show_functions(name)

    def _watch_runs(self, module: ModuleType) -> None:
        """Learn when compiled code runs, as soon as the program compiles anything.

        Every step of an optimizer switches the compiler off and on again several times.
        """
        compiles = getattr(module, "OptimizeContext", None)
        if compiles is None:
            self._redirect(module, "set_eval_frame", self._around_runs)
        elif native_parts(self._core) is not None:
            self._context.undo.append(
                at_first_call(
                    self._core,
                    compiles,
                    "__init__",
                    lambda *_, **__: self._redirect(module, "set_eval_frame", self._around_runs),
                )
            )

    def _show_functions(self, name: str) -> None:
        module: Any = sys.modules.get(name)
        if not _TYPES_DIFFER:
            return
        if name == _CONVERSION:
            for entry in _ENTRIES:
                if hasattr(module, entry):
                    self._redirect(module, entry, self._around_compilation)
        elif name == _VARIABLES:
            self._redirect(module.UserFunctionVariable, "__init__", self._in_graph)

    def _redirect(self, owner: object, name: str, make: Wrapper) -> None:
        if native_parts(self._core) is not None:
            self._context.undo.append(redirect(self._core, owner, name, make))

    def _around_compilation(self, original: Function) -> Function:
        compiler = self._core.compiler

        def compile_frame(*args: object, **kwargs: object) -> object:
            compiler(1, 0)
            try:
                return original(*args, **kwargs)
            finally:
                compiler(-1, 0)

        return compile_frame

    def _around_runs(self, original: Function) -> Function:
        native: Any = native_parts(self._core)
        return native.CompiledRuns(original)  # type: ignore[no-any-return]

    def _in_graph(self, original: Function) -> Function:
        in_graph = self._core.in_graph

        def init(self: object, fn: object, *args: object, **kwargs: object) -> None:
            in_graph(fn)
            original(self, fn, *args, **kwargs)

        return init

    def _skip_own_code(self, name: str) -> None:
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
                # A wrapper from another module's decorator is not hotloop's.
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
            yield from _functions(wrapped_by(part))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _with_inner(inner)
