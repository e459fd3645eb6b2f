"""An object's attributes, read without making the object slower.

Python keeps the attributes of an object without a dictionary until one is requested (`vars`,
`__dict__`). From then on, reading an attribute of that object takes 3.4 times as long in Python
3.11 and twice as long in 3.12: inspecting a hand-written environment once would slow it down for
good. So there the names are taken from the code of its class, and each is read from the object.
"""

from __future__ import annotations

import gc
import opcode
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from types import CodeType, FunctionType, WrapperDescriptorType
from typing import Any
from weakref import WeakKeyDictionary

from hotloop.hooks.program.files import is_program_file
from hotloop.hooks.redirect import written

#: Attributes of one object that are read.
MOST_ATTRIBUTES = 64

#: Whether a dictionary makes an object slower.
SLOWED = (3, 11) <= sys.version_info < (3, 13)

_CONTAINERS = (list, dict, set, frozenset, tuple, deque)
_STORE, _MORE = opcode.opmap["STORE_ATTR"], opcode.opmap["EXTENDED_ARG"]
#: Class -> names of the attributes that its methods set.
_names: WeakKeyDictionary[type, list[str]] = WeakKeyDictionary()


def attributes_of(held: object) -> list[tuple[str, Any]]:
    """Names and values of what an object keeps in itself, nearly as `vars` returns them.

    What other code than its class's sets is missed, unless it has a dictionary already; where the
    object has no value of its own, the class's is returned. Properties are not run.
    """
    try:
        if not reads_plainly(type(held)):
            return []
        names = _names_of(type(held)) if SLOWED else []
        if SLOWED and not names and not _refers(held):
            return []  # as new
        if not names or _has_dictionary(held, names):
            return list(vars(held).items())[:MOST_ATTRIBUTES]
        found = ((name, value) for name in names for value in _value(held, name))
        return list(islice(found, MOST_ATTRIBUTES))
    except Exception:  # no `__dict__`, or one of its own kind
        return []


def reads_plainly(cls: type) -> bool:
    """Whether reading an attribute runs no code of the class's own before it is found."""
    return isinstance(cls.__getattribute__, WrapperDescriptorType)


def read(held: Any, name: str, default: Any = None) -> Any:
    """An attribute, where no code of the program's has to be asked; a library's properties are."""
    cls = type(held)
    try:
        if not reads_plainly(cls) or _is_own_property(cls, name):
            return default
        return object.__getattribute__(held, name)
    except Exception:
        return default


def _is_own_property(cls: type, name: str) -> bool:
    """Whether an attribute is computed by code of the program's."""
    for owner in cls.__mro__:
        if name in vars(owner):
            getter = getattr(vars(owner)[name], "fget", None)
            code = getattr(getter, "__code__", None)
            return isinstance(code, CodeType) and is_program_file(code.co_filename)
    return False


def _names_of(cls: type) -> list[str]:
    names = _names.get(cls)
    if names is None:
        found = dict.fromkeys(
            name
            for owner in reversed(cls.__mro__)
            for raw in list(vars(owner).values())
            for code in _codes(raw)
            for name in _stored(code)
        )
        names = _names[cls] = [name for name in found if not _is_computed(cls, name)]
    return names


def _codes(raw: Any) -> list[CodeType]:
    """The code of a method, or of the functions of a property."""
    kind = type(raw)
    if issubclass(kind, property):
        parts = [raw.fget, raw.fset]
    elif issubclass(kind, (staticmethod, classmethod)):
        parts = [raw.__func__]
    else:
        parts = [raw] if callable(raw) else []
    try:
        functions = [written(part) for part in parts]
    except Exception:  # an attribute access of its own kind
        return []
    return [each.__code__ for each in functions if isinstance(each, FunctionType)]


def _stored(code: CodeType) -> Iterator[str]:
    """Names of the attributes that a piece of code sets, functions inside it included."""
    high = 0
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        argument = high << 8 | low
        if operation == _STORE:
            yield code.co_names[argument]
        high = argument if operation == _MORE else 0
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _stored(inner)


def _is_computed(cls: type, name: str) -> bool:
    """Whether reading it would run code: a property, a lazy one, a method, a slot."""
    raw = next((vars(owner)[name] for owner in cls.__mro__ if name in vars(owner)), None)
    return hasattr(type(raw), "__get__")


def _has_dictionary(held: object, names: list[str]) -> bool:
    """Whether its dictionary was requested before: then that refers to its values."""
    if isinstance(held, _CONTAINERS):
        return False  # all its elements would be among them
    others = _refers(held)
    return len(others) == 1 and type(others[0]) is dict and any(n in others[0] for n in names)


def _refers(held: object) -> list[object]:
    return [each for each in gc.get_referents(held) if each is not type(held)]


def _value(held: object, name: str) -> tuple[Any, ...]:
    try:
        return (object.__getattribute__(held, name),)
    except AttributeError:
        return ()
