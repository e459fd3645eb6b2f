"""Connections keep their type, factory, threads rule and errors."""

import inspect
import sqlite3


class Mine(sqlite3.Connection):
    pass


connection = sqlite3.connect(":memory:", factory=Mine)
print(
    type(connection).__name__,
    isinstance(connection, sqlite3.Connection),
    sqlite3.connect.__name__,
    sqlite3.connect.__module__,
)
print(inspect.isbuiltin(sqlite3.connect), callable(sqlite3.connect))
connection.row_factory = sqlite3.Row
with connection:
    connection.execute("create table t (a)")
    connection.executemany("insert into t values (?)", [(1,), (2,)])
print([tuple(row) for row in connection.execute("select * from t")])
try:
    sqlite3.connect()
except TypeError as error:
    print(type(error).__name__)
try:
    connection.execute("select * from missing")
except sqlite3.OperationalError as error:
    print(error)
