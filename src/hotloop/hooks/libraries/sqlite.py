"""SQLite, which programs use as a log: statements that write, and commits, are `log`.

`sqlite3.Connection` is a C class whose methods cannot be replaced, but `sqlite3.connect` accepts
the class to instantiate. A program that names a class of its own keeps it. Statements that read are
not hooked: they are training data as often as not.
"""

from __future__ import annotations

import functools

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library
from hotloop.hooks.protocols import Foreign, Function, Undo
from hotloop.hooks.wrapping import replace, timed

#: First words of statements that only read.
_READS = ("select", "pragma", "explain", "with", "values")

#: Where `factory` is among `sqlite3.connect`'s arguments, if given by position.
_FACTORY = 5


def library(context: HookContext) -> Library:
    """The table of SQLite."""
    return Library("SQLite", "", setup=functools.partial(_hook, context))


def _hook(context: HookContext) -> Undo:
    import sqlite3

    connection = _logged_connection(context, sqlite3)

    def log_writes(connect: Function) -> Function:
        def connect_logged(*args: Foreign, **kwargs: Foreign) -> object:
            if len(args) <= _FACTORY:
                kwargs.setdefault("factory", connection)
            return connect(*args, **kwargs)

        return connect_logged

    return replace(sqlite3, "connect", log_writes)


def _logged_connection(context: HookContext, sqlite3: Foreign) -> Foreign:
    """A class of connections whose writes, and their cursors', are in the log's phase."""
    is_open = context.core.is_open
    written = timed(context, "log", lambda _, *args, **__: not _writes(args) or is_open("log"))
    always = timed(context, "log", unless=("log",))

    class Cursor(sqlite3.Cursor):  # type: ignore[misc]
        execute = written(sqlite3.Cursor.execute)
        executemany = written(sqlite3.Cursor.executemany)
        executescript = written(sqlite3.Cursor.executescript)

    class Connection(sqlite3.Connection):  # type: ignore[misc]
        execute = written(sqlite3.Connection.execute)
        executemany = written(sqlite3.Connection.executemany)
        executescript = written(sqlite3.Connection.executescript)
        commit = always(sqlite3.Connection.commit)
        __exit__ = always(sqlite3.Connection.__exit__)

        def cursor(self, factory: Foreign = Cursor) -> Foreign:
            return super().cursor(factory)

    for each in (Cursor, Connection):
        # The connection's repr stays the same.
        each.__module__ = "sqlite3"
        each.__qualname__ = each.__name__
    return Connection


def _writes(arguments: tuple[object, ...]) -> bool:
    statement = arguments[0] if arguments else ""
    return isinstance(statement, str) and not statement.lstrip()[:7].lower().startswith(_READS)
