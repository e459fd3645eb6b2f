"""SQLite, which programs use as a log: statements that write, and commits, are `log`.

`sqlite3.Connection` is a C class whose methods cannot be replaced, but `sqlite3.connect` takes the
class to make, and subclasses of it are what the module offers for that. A program that names a
class of its own keeps it. Statements that read are left alone: they are data as often as not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks.table import Library

_log = get_profiler().core.region("log")
_is_open = get_profiler().core.is_open

#: First words of statements that only read.
_READS = ("select", "pragma", "explain", "with", "values")

#: Where `factory` is among `sqlite3.connect`'s arguments, if given by position.
_FACTORY = 5


def _is_written(arguments: tuple[Any, ...]) -> bool:
    statement = arguments[0] if arguments else ""
    return isinstance(statement, str) and not statement.lstrip()[:7].lower().startswith(_READS)


def _timed(method: Callable[..., Any], always: bool = False) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (always or _is_written(args)) or _is_open("log"):
            return method(self, *args, **kwargs)
        _log.enter()
        try:
            return method(self, *args, **kwargs)
        finally:
            _log.exit()

    return call


def _logged_connection(sqlite3: Any) -> Any:
    """A class of connections whose writes, and their cursors', are in the log's phase."""

    class Cursor(sqlite3.Cursor):  # type: ignore[misc]
        execute = _timed(sqlite3.Cursor.execute)
        executemany = _timed(sqlite3.Cursor.executemany)
        executescript = _timed(sqlite3.Cursor.executescript)

    class Connection(sqlite3.Connection):  # type: ignore[misc]
        execute = _timed(sqlite3.Connection.execute)
        executemany = _timed(sqlite3.Connection.executemany)
        executescript = _timed(sqlite3.Connection.executescript)
        commit = _timed(sqlite3.Connection.commit, always=True)
        __exit__ = _timed(sqlite3.Connection.__exit__, always=True)

        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

    for each in (Cursor, Connection):
        # What a program prints of its connection is what it always was.
        each.__module__ = "sqlite3"
        each.__qualname__ = each.__name__
    return Connection


def _put_on() -> Callable[[], None]:
    import sqlite3

    connect = sqlite3.connect
    modules: tuple[Any, ...] = (sqlite3, sqlite3.dbapi2)
    connection = _logged_connection(sqlite3)

    @functools.wraps(connect)
    def connect_logged(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= _FACTORY:
            kwargs.setdefault("factory", connection)
        return connect(*args, **kwargs)

    for module in modules:
        module.connect = connect_logged

    def take_off() -> None:
        for module in modules:
            module.connect = connect

    return take_off


LIBRARY = Library(title="SQLite", distribution="", setup=_put_on)
