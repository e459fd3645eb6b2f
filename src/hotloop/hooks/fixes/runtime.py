"""Applies the run-time fixes of a run as the modules they change are imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

from hotloop.capture.schema import Notes
from hotloop.errors import HotloopError
from hotloop.hooks.context import HookContext
from hotloop.hooks.protocols import Function
from hotloop.hooks.redirect import redirect, replace

#: (positional, keyword arguments of a call) -> keyword arguments that it gets instead.
Arguments = Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]


class Applied:
    """One fix in this process: its value, and how often it took effect."""

    def __init__(self, context: HookContext, value: str) -> None:
        self.context = context
        self.value = value
        self.effects = 0

    @property
    def number(self) -> int:
        return int(self.value)

    def took_effect(self) -> None:
        self.effects += 1

    def redirect(self, owner: object, name: str, make: Callable[[Function], Function]) -> None:
        """Redirect calls of `owner.name` to `make(original)`, wherever the program has bound it."""
        if hasattr(owner, name):
            self.context.undo.append(redirect(self.context.core, owner, name, make))

    def substitute(self, owner: Any, name: str, new: Any) -> None:
        """Let `owner.name` be another class or object."""
        if hasattr(owner, name):
            self.context.undo.append(replace(owner, name, lambda _: new))

    def instead(self, owner: object, name: str, call: Function) -> None:
        """Let calls of `owner.name` be calls of `call`, whose first argument is the original."""

        def make(original: Function) -> Function:
            def changed(*args: Any, **kwargs: Any) -> object:
                return call(original, *args, **kwargs)

            return changed

        self.redirect(owner, name, make)

    def pass_on(self, owner: object, name: str, changed: Arguments) -> None:
        """Let calls of `owner.name` have the keyword arguments that `changed` returns, if any."""

        def call(original: Function, *args: Any, **kwargs: Any) -> object:
            more = changed(args, kwargs)
            if more:
                self.took_effect()
            return original(*args, **{**kwargs, **more})

        self.instead(owner, name, call)

    def never(self, owner: object, name: str, result: object = None) -> None:
        """Let calls of `owner.name` do nothing."""

        def call(*_: object, **__: object) -> object:
            self.took_effect()
            return result

        self.instead(owner, name, call)


@dataclass(frozen=True)
class RuntimeFix:
    """A change of library calls, for all programs alike."""

    #: Called with the fix and a module of `modules` once that is imported.
    apply: Callable[[Applied, ModuleType], None]
    modules: tuple[str, ...]
    #: Whether it takes a whole number, as in `threads=1`.
    takes_number: bool = False
    #: Environment variables that it sets before the program starts; `{}` is its number.
    environment: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def known_fixes() -> dict[str, RuntimeFix]:
    """Every run-time fix by its name; imported only if a run has any."""
    from hotloop.hooks.fixes import keras_calls, standard_library, torch_calls, vector_envs

    return {
        **standard_library.FIXES,
        **torch_calls.FIXES,
        **keras_calls.FIXES,
        **vector_envs.FIXES,
    }


def check(written: list[str]) -> None:
    """Raise a `HotloopError` for a `--fix` that is unknown or lacks its number."""
    for text in written:
        name, _, value = text.partition("=")
        fix = known_fixes().get(name)
        if fix is None:
            raise HotloopError(
                f"--fix {text}: unknown fix; use one of {', '.join(sorted(known_fixes()))}"
            )
        if fix.takes_number != value.isdigit():
            needs = f"a number, such as {name}=1" if fix.takes_number else "no value"
            raise HotloopError(f"--fix {text}: takes {needs}")


class Fixes:
    """The fixes of this process."""

    def __init__(self, context: HookContext, written: list[str]) -> None:
        self._context = context
        self._applied = {
            text: (known_fixes()[text.partition("=")[0]], Applied(context, text.partition("=")[2]))
            for text in written
        }

        #: A module may be imported again and again.
        self._done: set[tuple[str, str]] = set()

    def install(self) -> None:
        """Apply fixes that can be applied now, and the rest when modules are imported."""
        os.environ.update(environment_of(list(self._applied)))
        for name in list(sys.modules):
            self.imported(name)
        self._context.on_import.append(self.imported)

    def imported(self, name: str) -> None:
        for text, (fix, applied) in self._applied.items():
            module = sys.modules.get(name)
            if name in fix.modules and module is not None and (text, name) not in self._done:
                self._done.add((text, name))
                self._context.guard(f"--fix {text}", fix.apply, applied, module)

    def notes(self) -> dict[str, Any]:
        return {Notes.fixes: {text: each.effects for text, (_, each) in self._applied.items()}}


def environment_of(written: list[str]) -> dict[str, str]:
    """The variables that these fixes set; the program and its children start with them."""
    found: dict[str, str] = {}
    for text in written:
        name, _, value = text.partition("=")
        for variable in known_fixes()[name].environment:
            key, _, setting = variable.partition("=")
            found[key] = setting.format(value)
    return found
