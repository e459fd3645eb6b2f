"""Puts the hooks on as libraries are imported, and takes them off again completely.

Python's import system calls `_find_and_load` for every module that is not loaded yet; standing
there costs nothing once a program runs. A place that a library no longer has is noted, never an
error; nothing here may ever stop a training.
"""

from __future__ import annotations

import importlib
import sys
import weakref
from collections.abc import Callable
from importlib import metadata
from types import FunctionType, ModuleType
from typing import Any

from hotloop.hooks import LIBRARIES
from hotloop.hooks.alter import altered
from hotloop.hooks.standin import undo_of
from hotloop.hooks.table import Library, Place
from hotloop.hooks.travelling import Travelling
from hotloop.hooks.untraced import Untraced
from hotloop.measure.profiler import Profiler

_importlib: Any = sys.modules["_frozen_importlib"]


class Hooks:
    """All hooks of this process."""

    def __init__(self, profiler: Profiler, libraries: dict[str, tuple[str, ...]] | None = None):
        self._profiler = profiler
        self._waiting = dict(LIBRARIES if libraries is None else libraries)
        #: Module -> the places in it that wait for it to be imported.
        self._places: dict[str, list[tuple[Library, Place]]] = {}
        #: Methods that are hooked in subclasses as well: (class, name, place).
        self._followed: list[tuple[Any, str, Place]] = []
        #: Libraries whose `setup` waits for a package to be whole: (package, library).
        self._setups: list[tuple[str, Library]] = []
        self._undo: list[Callable[[], None]] = []
        #: Title -> what is known of a library: version, places put on, places not found.
        self.libraries: dict[str, dict[str, Any]] = {}
        #: What tables say of this run as a whole.
        self._remarks: list[Callable[[], list[str]]] = []
        #: Modules that were imported in the loop: nothing is to be done for these again.
        self._known: dict[str, weakref.ref[Any]] = {}
        #: Shared with the core, whose failures the report names.
        self.failures: dict[str, str] = profiler.core.failures
        hooked = type(profiler.core.region("import").wrap(len))
        #: Called with a module's name once it has been imported and hooked.
        self.on_import: list[Callable[[str], None]] = [
            Untraced().imported,
            Travelling(self, hooked).imported,
        ]
        #: Called with a class that came from another process by value.
        self.on_class: list[Callable[[type], None]] = []

    # -- on and off --

    def install(self) -> None:
        """Hook what is imported already, and whatever will be."""
        for name in list(sys.modules):
            self._imported(name)
        find_and_load = _importlib._find_and_load
        region = self._profiler.core.region("import")
        _importlib._find_and_load = region.wrap(
            find_and_load, after=self._after_import, outermost=True, always=True
        )
        self._undo.append(lambda: setattr(_importlib, "_find_and_load", find_and_load))

    def uninstall(self) -> None:
        """Take every hook off: each place is again what it was."""
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as error:
                self.failures["uninstall"] = repr(error)

    def undo(self, call: Callable[[], None]) -> None:
        """Also do this when the hooks are taken off."""
        self._undo.append(call)

    def remark(self, ask: Callable[[], list[str]]) -> None:
        """Let the report say this as well."""
        self._remarks.append(ask)

    def notes(self) -> dict[str, Any]:
        """What the capture says of the libraries."""
        notes: dict[str, Any] = {
            "libraries": {title: dict(facts) for title, facts in self.libraries.items()}
        }
        remarks = [text for ask in self._remarks for text in self._guard("remarks", ask) or ()]
        if remarks:
            notes["remarks"] = remarks
        return notes

    # -- as modules come --

    def _after_import(self, result: Any, name: str, *_: Any) -> None:
        known = self._known.get(name)
        if known is not None and known() is result:
            return
        self._imported(name)
        # In the loop, because libraries ask `importlib` for the same module in every step.
        in_loop = self._profiler.core.loop_first
        if in_loop and isinstance(result, ModuleType) and not _is_loading(result):
            self._known[name] = weakref.ref(result)

    def _imported(self, name: str) -> None:
        package = name.partition(".")[0]
        for table, wakers in list(self._waiting.items()):
            if (package in wakers or name in wakers) and package in sys.modules:
                del self._waiting[table]
                self._read_table(table, wakers)
        for library, place in self._places.pop(name, ()):
            self._put_on(library, place)
        if self._setups:
            ready = [library for waker, library in self._setups if waker == name]
            self._setups = [pair for pair in self._setups if pair[1] not in ready]
            for library in ready:
                self._set_up(library)
        for call in self.on_import:
            self._guard(f"import of {name}", call, name)

    def _read_table(self, table: str, wakers: tuple[str, ...]) -> None:
        try:
            file, _, name = table.partition(":")
            tables = importlib.import_module(f"hotloop.hooks.{file}")
            library: Library = getattr(tables, name or "LIBRARY")
        except Exception as error:
            self.failures[table] = repr(error)
            return
        self.libraries[library.title] = {
            "version": _version(library.distribution),
            "places": 0,
            "missing": [],
        }
        if library.remarks is not None:
            self._remarks.append(library.remarks)
        for place in library.places:
            module = sys.modules.get(place.module)
            # A module that is still being imported is in sys.modules but not whole yet.
            if module is not None and not _is_loading(module):
                self._put_on(library, place)
            else:
                self._places.setdefault(place.module, []).append((library, place))
        if library.setup is not None:
            # The first of a package's modules to come is often not the package itself.
            loading = [w for w in wakers if (m := sys.modules.get(w)) is None or _is_loading(m)]
            if len(loading) < len(wakers):
                self._set_up(library)
            else:
                self._setups += [(waker, library) for waker in wakers]

    def _set_up(self, library: Library) -> None:
        if library.setup is not None:
            undo = self._guard(library.title, library.setup)
            if undo is not None:
                self._undo.append(undo)

    def _put_on(self, library: Library, place: Place) -> None:
        facts = self.libraries[library.title]
        try:
            owner, name, raw = _find(place)
        except (AttributeError, KeyError):
            if not place.optional:
                facts["missing"] = [*facts["missing"], str(place)]
            return
        try:
            if not place.only_overrides:
                self._replace(owner, name, raw, place)
            if place.overrides or place.only_overrides:
                self._follow_overrides(owner, name, place)
            facts["places"] += 1
        except Exception as error:
            self.failures[str(place)] = repr(error)

    def _replace(self, owner: Any, name: str, raw: Any, place: Place) -> None:
        """Let `owner.name` be the same function inside its phase."""
        kind = type(raw) if isinstance(raw, (staticmethod, classmethod)) else None
        function = raw.__func__ if kind else raw
        function = altered(function, place.phase, dynamic=place.wrapper is not None)
        if place.wrapper is not None:
            wrapped = place.wrapper(function)
        else:
            region = self._profiler.core.region(place.phase)
            wrapped = region.wrap(function, after=place.after, outermost=place.outermost)
        placed = kind(wrapped) if kind else wrapped
        setattr(owner, name, placed)
        self._undo.append(undo_of(owner, name, raw, placed))

    def _follow_overrides(self, owner: Any, name: str, place: Place) -> None:
        """Hook the method in every subclass that has its own, now and as they are made."""
        self._followed.append((owner, name, place))
        for subclass in _all_subclasses(owner):
            raw = vars(subclass).get(name)
            if callable(raw) and not getattr(raw, "__isabstractmethod__", False):
                self._replace(subclass, name, raw, place)
        before = vars(owner).get("__init_subclass__")

        def init_subclass(cls: Any, /, **kwargs: Any) -> None:
            if before is not None:
                before.__get__(None, cls)(**kwargs)
            else:
                super(owner, cls).__init_subclass__(**kwargs)
            raw = vars(cls).get(name)
            if callable(raw) and not getattr(raw, "__isabstractmethod__", False):
                self._guard(str(place), self._replace, cls, name, raw, place)

        owner.__init_subclass__ = classmethod(init_subclass)

        def undo() -> None:
            if before is not None:
                owner.__init_subclass__ = before
            else:
                del owner.__init_subclass__

        self._undo.append(undo)

    def class_arrived(self, cls: Any) -> None:
        """A class came by value, and has its methods now."""
        if not isinstance(cls, type):
            return
        self._guard(f"class {cls.__name__}", self._hook_methods, cls)
        for call in self.on_class:
            self._guard(f"class {cls.__name__}", call, cls)

    def _hook_methods(self, cls: type) -> None:
        for owner, name, place in self._followed:
            raw = vars(cls).get(name) if issubclass(cls, owner) else None
            if isinstance(raw, FunctionType) and not getattr(raw, "__isabstractmethod__", False):
                self._guard(str(place), self._replace, cls, name, raw, place)

    def _guard(self, what: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Whatever goes wrong in a hook is noted; the program never sees it."""
        try:
            return call(*arguments)
        except Exception as error:
            self.failures[what] = repr(error)
            return None


def _find(place: Place) -> tuple[Any, str, Any]:
    """(owner, attribute, what is there now, unbound) of a place."""
    owner: Any = sys.modules[place.module]
    *outer, name = place.name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    if isinstance(owner, type):
        return owner, name, vars(owner)[name]
    return owner, name, getattr(owner, name)


def _is_loading(module: ModuleType) -> bool:
    spec = getattr(module, "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _all_subclasses(owner: type) -> list[type]:
    found: list[type] = []
    waiting: list[type] = list(owner.__subclasses__())
    while waiting:
        cls = waiting.pop()
        found.append(cls)
        waiting += cls.__subclasses__()
    return found


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except Exception:
        return "unknown"
