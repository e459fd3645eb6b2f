"""Puts hooks on a library that is imported, takes them off, and prints what is not as it was.

Arguments: the table, the package that wakes it, modules to import joined by commas.
"""

import importlib
import inspect
import sys

from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
from hotloop.hooks.library import read_table

table, waker, modules = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
for module in modules:
    importlib.import_module(module)

library = read_table(table, HookContext(get_profiler()))


def find(target):
    owner = sys.modules.get(target.module)
    *outer, name = target.name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return inspect.getattr_static(owner, name)


def is_redirected(raw):
    """Whether calls of a function that is where it was go to a hook."""
    function = raw.__func__ if isinstance(raw, (staticmethod, classmethod)) else raw
    return get_profiler().core.original(function) is not function


loaded = [target for target in library.targets if target.module in sys.modules]
before = [find(target) for target in loaded]
hooks = Hooks(HookContext(get_profiler()), {table: (waker,)})
hooks.install()
during = [find(target) for target in loaded]
hooked = [a is not b or is_redirected(b) for a, b in zip(before, during, strict=True)]
hooks.uninstall()
after = [find(target) for target in loaded]
print("failures", hooks.failures)
print("missing", hooks.libraries[library.title]["missing"])
print("hooked", sum(hooked), "of", len(loaded))
print("changed", [str(p) for p, a, b in zip(loaded, before, after, strict=True) if a is not b])
