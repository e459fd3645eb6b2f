"""Connections and cursors are of SQLite's own classes, whoever calls their methods and how."""

import sqlite3
import traceback
import weakref

connection = sqlite3.connect(":memory:")
cursor = connection.cursor()
print(type(connection) is sqlite3.Connection, type(cursor) is sqlite3.Cursor)
print(sqlite3.Connection.__subclasses__(), hasattr(connection, "__dict__"))
for attempt in (lambda: weakref.ref(connection), lambda: setattr(connection, "name", 1)):
    try:
        attempt()
    except (TypeError, AttributeError) as error:
        print(error)
for name in ("execute", "executemany", "executescript", "commit", "__exit__", "__enter__"):
    method = vars(sqlite3.Connection)[name]
    bound = getattr(connection, name)
    print(type(method), repr(method), type(bound), bound.__self__ is connection, method.__doc__)
with connection as same:
    print(same is connection, connection.execute("create table t (a)") is cursor)
execute = connection.execute
execute("insert into t values (?)", (1,))
connection.__exit__(None, None, None)
sqlite3.Connection.__exit__(connection, None, None, None)
try:
    with connection:
        execute("insert into t values (2)")
        raise KeyError("rolled back")
except KeyError as error:
    print(error)
print(connection.execute("select * from t").fetchall(), connection.in_transaction)
try:
    connection.execute("insert into nowhere values (1)")
except sqlite3.OperationalError:
    traceback.print_exc()
for wrong in ((), (1,), (None, None)):
    try:
        connection.__exit__(*wrong)
    except TypeError as error:
        print(error)
