"""The parts of a library's table, and how a table is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from hotloop.hooks.protocols import Note, Undo, Wrapper

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext


@dataclass(frozen=True)
class Target:
    """One function or method of a library, and the phase that it is."""

    module: str
    name: str
    phase: str
    #: Called after each call: counts transitions, episodes, bytes. If it raises it is switched off
    #: and the report names it.
    after: Note | None = None
    #: A call inside the same phase is not timed again (wrappers that call the wrapped object).
    outermost: bool = False
    #: Also hook every override of this method in subclasses, the program's own included.
    overrides: bool = False
    #: Hook only the overrides: the method itself is shorter than a region, or hooked elsewhere.
    only_overrides: bool = False
    #: Instead of a plain region, for the few targets where that is not enough (the phase depends on
    #: the moment, `torch.compile` inspects the function). See `hooks/wrapping.py`.
    wrapper: Wrapper | None = None
    #: Some versions of the library lack it; the report does not mention it.
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def every(
    module: str, name: str, phase: str, after: Note | None = None, optional: bool = False
) -> Target:
    """A method and all its overrides; a call inside such a call is a part of it."""
    return Target(module, name, phase, after, outermost=True, overrides=True, optional=optional)


def once(
    module: str, name: str, phase: str, after: Note | None = None, optional: bool = False
) -> Target:
    """A function of which only the outermost call is timed."""
    return Target(module, name, phase, after, outermost=True, optional=optional)


@dataclass(frozen=True)
class Library:
    """One library: its name for people, the distribution with its version, and its targets."""

    title: str
    distribution: str
    targets: tuple[Target, ...] = ()
    #: Phases that only this library has, and the category that each belongs to.
    categories: Mapping[str, str] = field(default_factory=dict)
    #: Called once the library's top-level package has been imported, for hooks that are not
    #: targets (a registration that the library itself offers). Returns what removes it again.
    setup: Callable[[], Undo | None] | None = None
    #: Remarks about this run for the report; called as each window closes.
    remarks: Callable[[], list[str]] | None = None


def read_table(name: str, context: HookContext) -> Library:
    """The table of that name in `LIBRARIES`, made for one run.

    A file with one table calls the function that makes it `library`; a file with several small
    tables has one function for each, named after a colon.
    """
    file, _, function = name.partition(":")
    tables = import_module(f"hotloop.hooks.libraries.{file}")
    make: Callable[[HookContext], Library] = getattr(tables, function or "library")
    return make(context)
