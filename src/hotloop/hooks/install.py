"""Attaches hooks as libraries are imported, and removes them completely.

Python's import system calls `_find_and_load` for every module that is not loaded yet; a hook
there costs nothing once modules are loaded. A target that a library lacks is noted and never an
error; nothing here may stop the program.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from importlib import metadata
from types import ModuleType
from typing import Any

from hotloop.capture.schema import LibraryUse, Notes
from hotloop.hooks import LIBRARIES
from hotloop.hooks.compat.cloudpickle import ClassesByValue
from hotloop.hooks.compat.dynamo import DynamoCompatibility
from hotloop.hooks.compat.torch_functions import TorchFunctionCompatibility
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, read_table
from hotloop.hooks.protocols import Function, Undo, Wrapper
from hotloop.hooks.redirect import function_in, is_abstract, raw_attribute, redirect
from hotloop.measure.core import native_parts

#: Above this, each time the number has doubled, functions that died are forgotten.
_MANY = 4096

_importlib: Any = sys.modules["_frozen_importlib"]


class Hooks:
    """All hooks of this process."""

    def __init__(self, context: HookContext, libraries: dict[str, tuple[str, ...]] | None = None):
        self.context = context
        self._profiler = profiler = context.profiler
        self._waiting = dict(LIBRARIES if libraries is None else libraries)
        #: Package or module -> the tables to read when it is imported.
        self._tables: dict[str, list[str]] = {}
        for table, triggers in self._waiting.items():
            for trigger in triggers:
                self._tables.setdefault(trigger, []).append(table)
        #: Module -> the targets in it that wait for it to be imported.
        self._waiting_targets: dict[str, list[tuple[Library, Target]]] = {}
        #: Methods that are hooked in subclasses as well: (class, name, target).
        self._followed: list[tuple[Any, str, Target]] = []
        #: The classes of these whose subclasses the native module follows.
        self._owners: set[type] = set()
        #: Libraries whose `setup` waits for a package to be whole: (package, library).
        self._setups: list[tuple[str, Library]] = []
        self._undo = context.undo
        #: Objects that are already hooked, by address, to check that they are still the same.
        self._hooked: dict[tuple[Any, ...], Callable[[], object]] = {}
        #: Title -> facts about a library: version, targets hooked, targets missing.
        self.libraries: dict[str, dict[str, Any]] = {}
        self._remarks = context.remarks
        #: Modules that were imported in the loop: nothing is to be done for these again.
        self._known: dict[str, weakref.ref[Any]] = {}
        self.failures = context.failures
        hooked = type(profiler.core.region("import").wrap(len))
        self.on_import = context.on_import
        self.on_import += [
            DynamoCompatibility(context).imported,
            TorchFunctionCompatibility(context).imported,
            ClassesByValue(self, hooked).imported,
        ]
        context.on_class.append(self._hook_methods)
        self.on_class = context.on_class
        self.class_arrived = context.class_arrived

    # -- on and off --

    def install(self) -> None:
        """Hook libraries that are already imported, and those that will be."""
        for name in list(sys.modules):
            self._imported(name)
        core = self._profiler.core

        def time_imports(original: Function) -> Function:
            return core.region("import").wrap(
                original, after=self._after_import, outermost=True, always=True
            )

        self._undo.append(redirect(core, _importlib, "_find_and_load", time_imports))

    def uninstall(self) -> None:
        """Remove every hook and restore each target."""
        self.context.remove_all()

    def redirect(self, owner: object, name: str, make: Wrapper) -> None:
        """Redirect calls of `owner.name` to `make(original)`, until the hooks are removed."""
        self._undo.append(redirect(self._profiler.core, owner, name, make))

    def undo(self, call: Undo) -> None:
        """Also do this when the hooks are removed."""
        self._undo.append(call)

    def notes(self) -> dict[str, Any]:
        """The notes on libraries."""
        notes: dict[str, Any] = {
            Notes.libraries: {title: dict(facts) for title, facts in self.libraries.items()}
        }
        remarks = [
            text for ask in self._remarks for text in self.context.guard("remarks", ask) or ()
        ]
        if remarks:
            notes[Notes.remarks] = list(dict.fromkeys(remarks))  # each remark once
        if self.context.waited_for:
            notes[Notes.waited_for] = dict(self.context.waited_for)
        return notes

    # -- as modules come --

    def _after_import(self, result: object, name: str, *_: object) -> None:
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
        for trigger in (package, name):
            for table in self._tables.get(trigger, ()) if package in sys.modules else ():
                triggers = self._waiting.pop(table, None)
                if triggers is not None:
                    self._read_table(table, triggers)
        for library, target in self._waiting_targets.pop(name, ()):
            self._attach(library, target)
        if self._setups:
            ready = [library for trigger, library in self._setups if trigger == name]
            self._setups = [pair for pair in self._setups if pair[1] not in ready]
            for library in ready:
                self._set_up(library)
        what = f"import of {name}"
        for call in self.on_import:
            self.context.guard(what, call, name)

    def _read_table(self, table: str, triggers: tuple[str, ...]) -> None:
        try:
            library = read_table(table, self.context)
        except Exception as error:
            self.failures[table] = repr(error)
            return
        self.libraries[library.title] = {
            LibraryUse.version: _version(library.distribution),
            LibraryUse.targets: 0,
            LibraryUse.missing: [],
        }
        self._profiler.categories.update(library.categories)
        if library.remarks is not None:
            self._remarks.append(library.remarks)
        for target in library.targets:
            module = sys.modules.get(target.module)
            # A module that is still being imported is in sys.modules but not whole yet.
            if module is not None and not _is_loading(module):
                self._attach(library, target)
            else:
                self._waiting_targets.setdefault(target.module, []).append((library, target))
        if library.setup is not None:
            # The first of a package's modules to come is often not the package itself.
            loading = [w for w in triggers if (m := sys.modules.get(w)) is None or _is_loading(m)]
            if len(loading) < len(triggers):
                self._set_up(library)
            else:
                self._setups += [(trigger, library) for trigger in triggers]

    def _set_up(self, library: Library) -> None:
        if library.setup is not None:
            undo = self.context.guard(library.title, library.setup)
            if undo is not None:
                self._undo.append(undo)

    def _attach(self, library: Library, target: Target) -> None:
        facts = self.libraries[library.title]
        try:
            owner, name, raw = _find(target)
        except (AttributeError, KeyError):
            if not target.optional:
                facts[LibraryUse.missing] = [*facts[LibraryUse.missing], str(target)]
            return
        try:
            if not target.only_overrides:
                self._hook(owner, name, raw, target)
            if target.overrides or target.only_overrides:
                self._follow_overrides(owner, name, target)
            facts[LibraryUse.targets] += 1
        except Exception as error:
            self.failures[str(target)] = repr(error)

    def _hook(self, owner: object, name: str, raw: object, target: Target) -> None:
        """Time the calls of `owner.name` as its phase."""
        core, function = self._profiler.core, function_in(raw)
        # One function may have several names; hooked in place, it is hooked under all of them.
        key = (id(function), target.phase, target.after, target.wrapper)
        known = self._hooked.get(key)
        if known is not None and known() is function and core.original(function) is not function:
            return
        if len(self._hooked) > _MANY and not len(self._hooked) & (len(self._hooked) - 1):
            self._hooked = {k: ref for k, ref in self._hooked.items() if ref() is not None}
        self._hooked[key] = _reference(function)

        def make(original: Function) -> Function:
            call = self.context.altered(original, target.phase, dynamic=target.wrapper is not None)
            if target.wrapper is not None:
                return target.wrapper(call)
            region = core.region(target.phase)
            return region.wrap(call, after=target.after, outermost=target.outermost)

        self._undo.append(redirect(core, owner, name, make, weak=isinstance(owner, type)))

    def _follow_overrides(self, owner: Any, name: str, target: Target) -> None:
        """Hook the method in every subclass that has its own, now and when one is created."""
        self._followed.append((owner, name, target))
        for subclass in _all_subclasses(owner):
            raw = vars(subclass).get(name)
            if callable(raw) and not is_abstract(raw):
                self._hook(subclass, name, raw, target)
        self._undo.append(self._on_subclass(owner, self._hook_methods))

    def _on_subclass(self, owner: Any, made: Callable[[type], None]) -> Undo:
        """Call `made` with every class that is made below `owner`."""
        native = native_parts(self._profiler.core)
        raw = raw_attribute(owner, "__init_subclass__")
        if native is not None and not isinstance(raw, classmethod):
            # Nothing is added to the class, which a program may inspect or save.
            try:
                native.follow_subclasses((*self._owners, owner), made)
            except NotImplementedError:
                pass  # a Python with another layout of `object`
            else:
                self._owners.add(owner)
                return lambda: native.follow_subclasses((), made)

        def make(original: Function) -> Function:
            def init_subclass(cls: type, *args: object, **kwargs: object) -> None:
                original(cls, *args, **kwargs)
                made(cls)

            return init_subclass

        if isinstance(raw, classmethod):
            return redirect(self._profiler.core, owner, "__init_subclass__", make)

        def init_subclass(cls: Any, /, **kwargs: Any) -> None:
            super(owner, cls).__init_subclass__(**kwargs)
            made(cls)

        owner.__init_subclass__ = classmethod(init_subclass)
        return lambda: delattr(owner, "__init_subclass__")

    def _hook_methods(self, cls: type) -> None:
        for owner, name, target in self._followed:
            # A metaclass may compare classes by code that needs the class that is made just now.
            below = any(each is owner for each in cls.__mro__)
            raw = vars(cls).get(name) if below else None
            if callable(raw) and not is_abstract(raw):
                self.context.guard(str(target), self._hook, cls, name, raw, target)


def _find(target: Target) -> tuple[Any, str, Any]:
    """(owner, attribute, its current value, unbound) of a target."""
    owner: Any = sys.modules[target.module]
    *outer, name = target.name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    if isinstance(owner, type):
        owner = _class_with(owner, name)
        return owner, name, vars(owner)[name]
    return owner, name, getattr(owner, name)


def _class_with(cls: type, name: str) -> type:
    """The class, or the private part of it that has the method (tensordict 0.15 is split so)."""
    package = cls.__module__.partition(".")[0]
    for base in cls.__mro__[1:] if name not in vars(cls) else ():
        is_part = base.__name__.startswith("_") and base.__module__.partition(".")[0] == package
        if is_part and name in vars(base):
            return base
    return cls


def _reference(function: Any) -> Callable[[], object]:
    """A weak reference if possible; anything else is kept."""
    try:
        return weakref.ref(function)
    except TypeError:
        return lambda: function


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
