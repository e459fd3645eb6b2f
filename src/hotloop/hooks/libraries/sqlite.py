"""SQLite, which programs use as a log: statements that write, and commits, are `log`.

The methods of its classes are hooked in place, so connections and cursors stay what they are.
Statements that read are not hooked: they are training data as often as not.
"""

from __future__ import annotations

import functools

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library
from hotloop.hooks.protocols import Foreign, Undo
from hotloop.hooks.redirect import redirect
from hotloop.hooks.wrapping import timed
from hotloop.measure.core import native_parts

#: First words of statements that only read.
_READS = ("select", "pragma", "explain", "with", "values")

_WITH_STATEMENTS = ("execute", "executemany", "executescript")
_ENDS_OF_TRANSACTIONS = ("commit", "__exit__")


def library(context: HookContext) -> Library:
    """The table of SQLite."""
    return Library("SQLite", "", setup=functools.partial(_hook, context))


def _hook(context: HookContext) -> Undo:
    if native_parts(context.core) is None:
        return lambda: None  # methods of C classes can only be hooked in place
    import sqlite3

    is_open = context.core.is_open
    # A connection passes its statements on to a cursor.
    written = timed(context, "log", lambda _, *args, **__: not _writes(args) or is_open("log"))
    always = timed(context, "log", unless=("log",))
    classes: tuple[Foreign, ...] = (sqlite3.Cursor, sqlite3.Connection)
    undo = [
        redirect(context.core, cls, name, written) for cls in classes for name in _WITH_STATEMENTS
    ]
    undo += [
        redirect(context.core, sqlite3.Connection, name, always) for name in _ENDS_OF_TRANSACTIONS
    ]

    def undo_all() -> None:
        for each in undo:
            each()

    return undo_all


def _writes(arguments: tuple[object, ...]) -> bool:
    statement = arguments[0] if arguments else ""
    return isinstance(statement, str) and not statement.lstrip()[:7].lower().startswith(_READS)
