"""Calls are redirected, and the program's own objects stay where and what they are."""

from __future__ import annotations

import abc
import functools
import types
from collections.abc import Callable
from typing import Any

import pytest

from hotloop.hooks.redirect import (
    at_first_call,
    function_in,
    is_abstract,
    is_awaited,
    is_really,
    plain_function,
    raw_attribute,
    redirect,
    replace,
    written,
)
from hotloop.measure.core import NATIVE, Core


class Base:
    def method(self, x: int) -> int:
        return x + 1

    @staticmethod
    def static(x: int) -> int:
        return x + 2

    @classmethod
    def of_class(cls, x: int) -> tuple[type, int]:
        return cls, x + 3


class Child(Base):
    pass


def tenfold(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        result = original(*args)
        return 10 * result if isinstance(result, int) else (result[0], 10 * result[1])

    return call


@pytest.mark.parametrize("change", [functools.partial(redirect, Core()), replace])
def test_calls_go_through_the_hook_until_it_is_undone(change: Callable[..., Any]) -> None:
    undo = [change(Base, name, tenfold) for name in ("method", "static", "of_class")]
    assert (Base().method(1), Base.static(1), Child.of_class(1)) == (20, 30, (Child, 40))
    for each in undo:
        each()
    assert (Base().method(1), Base.static(1), Child.of_class(1)) == (2, 3, (Child, 4))


@pytest.mark.skipif(not NATIVE, reason="the twin replaces functions")
def test_the_native_core_leaves_the_function_in_place() -> None:
    before = vars(Base)["method"]
    undo = redirect(Core(), Base, "method", tenfold)
    assert vars(Base)["method"] is before
    assert "method" not in vars(Child)
    undo()


def test_an_inherited_method_is_removed_again() -> None:
    undo = replace(Child, "method", tenfold)
    assert (Child().method(1), Base().method(1)) == (20, 2)
    undo()
    assert "method" not in vars(Child)


def test_what_the_program_put_there_since_is_kept() -> None:
    module: Any = types.ModuleType("program")
    module.act = lambda: 1
    undo = replace(module, "act", tenfold)
    module.act = later = lambda: 5
    undo()
    assert module.act is later


def test_a_decorator_around_the_hook_goes_with_it() -> None:
    module: Any = types.ModuleType("program")
    module.act = original = lambda: 1
    undo = replace(module, "act", tenfold)
    module.act = functools.wraps(module.act)(lambda: 7)
    undo()
    assert module.act is original


def test_something_before_the_first_call_only() -> None:
    module: Any = types.ModuleType("program")
    seen: list[str] = []

    def act() -> int:
        return 1

    module.act = act
    at_first_call(Core(), module, "act", lambda: seen.append("first"))
    assert [module.act(), module.act(), seen] == [1, 1, ["first"]]


def test_an_error_before_the_first_call_is_not_the_programs() -> None:
    module: Any = types.ModuleType("program")

    def act() -> int:
        return 1

    def fail() -> None:
        raise ValueError

    module.act = act
    at_first_call(Core(), module, "act", fail)
    assert module.act() == 1


def test_attributes_as_they_are_kept() -> None:
    assert isinstance(raw_attribute(Child, "static"), staticmethod)
    assert function_in(raw_attribute(Child, "of_class")) is vars(Base)["of_class"].__func__
    assert plain_function(vars(Base)["static"]) is Base.static
    assert plain_function(len) is None
    with pytest.raises(AttributeError, match="Child has no gone"):
        raw_attribute(Child, "gone")


class Proxy:
    """Loads its target when its class is asked for, as lazy proxies do."""

    loaded = False

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        Proxy.loaded = True
        return int

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_objects_of_a_program_may_do_anything_when_they_are_inspected() -> None:
    proxy = Proxy()
    assert not is_really(proxy, int)
    assert not Proxy.loaded
    assert written(proxy) is proxy
    assert not is_abstract(proxy)


def test_decorators_and_kinds() -> None:
    def inner() -> None: ...

    outer = functools.wraps(inner)(functools.wraps(inner)(lambda: None))
    assert written(outer) is inner
    outer.__wrapped__ = outer  # type: ignore[attr-defined]
    assert written(outer) is outer  # a cycle ends

    async def coroutine() -> None: ...

    assert is_awaited(coroutine)
    assert not is_awaited(inner)

    class Abstract(abc.ABC):
        @abc.abstractmethod
        def step(self) -> None: ...

    assert is_abstract(vars(Abstract)["step"])
