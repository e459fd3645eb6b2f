"""Functions of the standard library pickle by name, to the same objects."""

import copy
import functools
import os
import pickle
import sqlite3

for thing in (
    os._exit,
    os.fork,
    sqlite3.connect,
    print,
    functools.partial(sqlite3.connect, ":memory:"),
    functools.partial(os._exit, 3),
):
    packed = pickle.dumps(thing)
    again = pickle.loads(packed)
    print(
        packed,
        type(thing).__name__,
        again is thing,
        copy.deepcopy(thing) is thing,
        repr(again).split(" at ")[0],
    )
