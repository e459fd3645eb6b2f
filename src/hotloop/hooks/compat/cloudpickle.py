"""Keeps hooks compatible with cloudpickle: classes of the program sent to other processes.

cloudpickle sends the script's classes as they are, including hotloop's changes. A hooked method
must be sent with its class, not by name: a worker may have imported the script again and have
another class of that name, in whose method `super()` would fail. On arrival, a class gets its
methods after it was created, so it is hooked at that point. Ray, joblib and others include a copy
of cloudpickle.
"""

from __future__ import annotations

import functools
import sys
from collections import ChainMap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from hotloop.measure.pickling import same

if TYPE_CHECKING:
    from hotloop.hooks.install import Hooks

#: The modules that keep a pickler, in versions old and new.
_PICKLERS = frozenset({"cloudpickle", "cloudpickle_fast"})


class ClassesByValue:
    """Hooks every copy of cloudpickle that is imported."""

    def __init__(self, hooks: Hooks, hooked: type) -> None:
        self._hooks = hooks
        #: The type of a hooked method.
        self._hooked = hooked
        #: Modules that are hooked; `importlib` is asked for the same ones again.
        self._seen: set[str] = set()

    def imported(self, name: str) -> None:
        """Called when a module has been imported."""
        package, _, last = name.rpartition(".")
        is_copy = last in _PICKLERS and package.rpartition(".")[2] == "cloudpickle"
        if is_copy and name not in self._seen:
            self._seen.add(name)
            self._send(sys.modules[name])
            self._receive(sys.modules[name])

    def _send(self, module: ModuleType) -> None:
        pickler: Any = getattr(module, "CloudPickler", None)
        table = vars(pickler).get("dispatch_table") if isinstance(pickler, type) else None
        if not isinstance(table, ChainMap) or self._hooked is FunctionType:
            return

        def reduce(timed: Any) -> Any:
            function = timed.__wrapped__
            if _goes_by_value(str(getattr(function, "__module__", "")), module):
                return same, (function,)
            return timed.__reduce__()

        pickler.dispatch_table = table.new_child({self._hooked: reduce})
        self._hooks.undo(lambda: setattr(pickler, "dispatch_table", table))

    def _receive(self, module: ModuleType) -> None:
        original: Callable[..., Any] | None = getattr(module, "_class_setstate", None)
        if original is None or original.__module__ != module.__name__:
            return

        @functools.wraps(original)
        def _class_setstate(cls: object, *state: object) -> object:
            result = original(cls, *state)
            self._hooks.class_arrived(cls)
            return result

        vars(module)["_class_setstate"] = _class_setstate
        self._hooks.undo(lambda: setattr(module, "_class_setstate", original))


def _goes_by_value(name: str, cloudpickle: ModuleType) -> bool:
    """Whether this cloudpickle sends the classes of a module by value."""
    main = sys.modules.get(cloudpickle.__name__.removesuffix("_fast"))
    named = getattr(main, "_PICKLE_BY_VALUE_MODULES", ())
    return any(f"{name}.".startswith(f"{each}.") for each in ("__main__", *named))
