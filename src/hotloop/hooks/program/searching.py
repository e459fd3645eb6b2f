"""Hooks of tree search and self-play: searches, their simulations, the rules, and whole games."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hotloop.capture import schema
from hotloop.hooks.program.self_play import plays_a_game
from hotloop.hooks.protocols import Function
from hotloop.hooks.redirect import is_defined_in, is_really, plain_function, written

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext


class _Nesting(threading.local):
    """Whether a thread is in a simulation."""

    simulates = False


class SelfPlay:
    """The searches of one run, and the games whose moves they chose."""

    def __init__(self, context: HookContext) -> None:
        self._core: Any = context.core
        #: Names of functions that search.
        self.names: set[str] = set()
        #: Functions that were looked at, by the number of names that were known then.
        self._seen: WeakKeyDictionary[FunctionType, int] = WeakKeyDictionary()
        #: Searches since the last game ended. Counted by notes, which also run between stretches.
        self._moves = 0
        self._nesting = _Nesting()
        #: Hooks by kind of function.
        self.kinds: dict[str, Callable[[Function], Function]] = {
            "rules": self._rules,
            "game": self._game,
            "simulation": self._simulation,
        }

    def searched(self, *_: object, **__: object) -> None:
        """A note after a search."""
        self._moves += 1
        self._core.count(schema.SEARCHES, 1)

    def games_in(self, module: ModuleType) -> Iterator[tuple[object, str]]:
        """Functions of a module that play one game, by their calls."""
        if not self.names:
            return
        for owner, name, function in _functions_of(module):
            if self._seen.get(function) == len(self.names):
                continue
            self._seen[function] = len(self.names)
            if plays_a_game(written(function).__code__, self.names):
                yield owner, name

    def _rules(self, function: Function) -> Function:
        """The rules of a game, timed when a tree search asks for them."""
        region = self._core.region("search.rules")
        timed, is_open = region.wrap(function, outermost=True), self._core.is_open

        def call(*args: object, **kwargs: object) -> object:
            return (timed if is_open("search") else function)(*args, **kwargs)

        inside: Function = region.wrap(function, instead=call)
        return inside

    def _simulation(self, function: Function) -> Function:
        """One simulation of a search; recursive calls are part of it."""

        @functools.wraps(function)
        def simulate(*args: object, **kwargs: object) -> object:
            nesting = self._nesting
            if nesting.simulates or not self.names:
                return function(*args, **kwargs)
            nesting.simulates = True
            try:
                return function(*args, **kwargs)
            finally:
                nesting.simulates = False
                self._core.count(schema.SIMULATIONS, 1)

        return simulate

    def _game(self, function: Function) -> Function:
        """One game, if a tree search chose its moves; the innermost of these functions counts."""

        @functools.wraps(function)
        def play(*args: object, **kwargs: object) -> object:
            result = function(*args, **kwargs)
            if self._moves:
                self._moves = 0
                self._core.count(schema.GAMES, 1)
            return result

        return play


def _functions_of(module: ModuleType) -> Iterator[tuple[object, str, FunctionType]]:
    """The functions of a module, and of its classes: (owner, name, function)."""
    for name, value in list(vars(module).items()):
        is_class = is_really(value, type)
        # Attributes of other objects are not read.
        if not (is_class or is_really(value, FunctionType)):
            continue
        if not is_defined_in(module, value):
            continue
        owner = value if is_class else module
        for inner, raw in list(vars(value).items()) if is_class else [(name, value)]:
            function = plain_function(raw)
            if function is not None:
                yield owner, inner, function
