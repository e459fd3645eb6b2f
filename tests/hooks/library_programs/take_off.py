"""Puts hooks on a library that is imported, takes them off, and prints what is not as it was.

Arguments: the table, the package that wakes it, modules to import joined by commas.
"""

import importlib
import sys

from hotloop import get_profiler
from hotloop.hooks.install import Hooks

table, waker, modules = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
for module in modules:
    importlib.import_module(module)

library = importlib.import_module(f"hotloop.hooks.{table}").LIBRARY


def find(place):
    owner = sys.modules.get(place.module)
    *outer, name = place.name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)


loaded = [place for place in library.places if place.module in sys.modules]
before = [find(place) for place in loaded]
hooks = Hooks(get_profiler(), {table: (waker,)})
hooks.install()
during = [find(place) for place in loaded]
hooks.uninstall()
after = [find(place) for place in loaded]
print("failures", hooks.failures)
print("missing", hooks.libraries[library.title]["missing"])
print("hooked", sum(a is not b for a, b in zip(before, during, strict=True)), "of", len(loaded))
print("changed", [str(p) for p, a, b in zip(loaded, before, after, strict=True) if a is not b])
