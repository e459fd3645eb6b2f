"""Where a target of a library's table is found."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from hotloop import Profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks, _find
from hotloop.hooks.library import Target


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("some_library")
    exec(
        "class Parent:\n"
        "    def close(self): ...\n"
        "class _Copies:\n"
        "    def to(self): ...\n"
        "class Whole(_Copies, Parent):\n"
        "    def clone(self): ...\n",
        vars(module),
    )
    monkeypatch.setitem(sys.modules, "some_library", module)
    return module


def test_a_method_of_the_class_itself(library: ModuleType) -> None:
    owner, name, raw = _find(Target("some_library", "Whole.clone", "tensordict"))
    assert (owner, name, raw) == (library.Whole, "clone", library.Whole.clone)


def test_a_method_that_moved_to_a_private_part_of_the_class(library: ModuleType) -> None:
    owner, name, raw = _find(Target("some_library", "Whole.to", "tensordict"))
    assert (owner, name, raw) == (library._Copies, "to", library.Whole.to)


def test_a_parents_method_is_not_the_classs() -> None:
    # Hooked there, it would be timed for every other class below the parent.
    with pytest.raises(KeyError):
        _find(Target("some_library", "Whole.close", "tensordict"))


class ComparesByName(type):
    """As in `typing_extensions`: comparing needs a name that is bound once the class is made."""

    def __eq__(cls, other: object) -> bool:
        return cls is NotYet and other is not NotYet  # noqa: F821

    __hash__ = type.__hash__


def test_a_class_that_cannot_be_compared_yet(library: ModuleType) -> None:
    hooks = Hooks(HookContext(Profiler()), {})
    hooks._followed.append((library.Parent, "close", Target("some_library", "Parent.close", "log")))
    made = ComparesByName("Made", (library.Parent,), {"close": lambda self: None})
    hooks._hook_methods(made)
    hooks._hook_methods(ComparesByName("Other", (), {}))
    assert hooks.failures == {}
