"""SQLite writes are `log`, and connections behave as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[1] / "own_programs" / "loggers.py"


@pytest.mark.real_time
def test_sqlite_writes_are_the_log(profile: Any) -> None:
    run = profile(PROGRAM, "sqlite")
    assert run.out == profile(PROGRAM, "sqlite", hotloop=False).out
    assert run.calls("log") == 300 * 2 + 6 * 2
    assert run.seconds("log") > run.seconds("env.step")


DETAILS = """
import sqlite3, os, sys

class Mine(sqlite3.Connection):
    pass

a = sqlite3.connect(":memory:")
b = sqlite3.connect(":memory:", factory=Mine)
by_position = (5.0, 0, None, True, Mine) if sys.version_info < (3, 15) else ()
c = sqlite3.connect(":memory:", *by_position)
print(type(a).__name__, type(b).__name__, type(c).__name__, isinstance(a, sqlite3.Connection))
a.row_factory = sqlite3.Row
a.execute("create table t (x, y)")
a.executemany("insert into t values (?, ?)", [(1, 2), (3, 4)])
with a:
    a.execute("update t set y = 5 where x = 3")
try:
    with a:
        a.execute("insert into t values (9, 9)")
        raise KeyError
except KeyError:
    pass
print([dict(row) for row in a.execute("select * from t")], a.total_changes, a.in_transaction)
cursor = a.cursor()
print(cursor.execute("  insert into t values (?, ?)", (7, 8)).lastrowid, cursor.rowcount)
try:
    a.execute("insert into nowhere values (1)")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_sqlite_behaves_as_before(profile: Any) -> None:
    assert profile(DETAILS).out == profile(DETAILS, hotloop=False).out
