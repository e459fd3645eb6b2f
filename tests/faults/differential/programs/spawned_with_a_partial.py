"""A partial of a library's function travels to a spawned process."""

import functools
import multiprocessing
import sqlite3


def use(make):
    print(make().execute("select 1 + 1").fetchall(), flush=True)


if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(
        target=use, args=(functools.partial(sqlite3.connect, ":memory:"),)
    )
    process.start()
    process.join()
    print(process.exitcode)
