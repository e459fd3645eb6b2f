"""A program's own finder and reloading work; modules come from where they did."""

import importlib
import importlib.abc
import importlib.util
import sys


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "virtual" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.value = 3


sys.meta_path.insert(0, Finder())
import virtual

print(virtual.value, importlib.reload(virtual).value)
try:
    import missing_module
except ModuleNotFoundError as error:
    print(error, error.name)
import sqlite3

print(
    importlib.util.find_spec("sqlite3").origin == sqlite3.__file__,
    sqlite3.__spec__.name,
    type(sqlite3.__loader__).__name__,
    type(sqlite3).__name__,
)
