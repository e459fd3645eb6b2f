"""Attributes are read as `vars` tells them, and the object is not slower afterwards."""

from __future__ import annotations

import dis
import functools
import gc
from collections import deque
from dataclasses import dataclass
from typing import Any

import pytest

from hotloop.hooks.telemetry.attributes import SLOWED, attributes_of


class Base:
    def __init__(self) -> None:
        self.seen: list[int] = []


class Env(Base):
    kind = "a class's own"

    def __init__(self) -> None:
        super().__init__()
        self.state, self.other = 0, {}
        self.half = 3

    @property
    def half(self) -> int:
        return self._half

    @half.setter
    def half(self, value: int) -> None:
        self._half = value

    @functools.lru_cache  # noqa: B019 (what decorates it is looked behind)
    def later(self) -> None:
        self.late = 1

    def step(self) -> int:
        return self.state + self.state + self.state + self.state


def test_what_an_object_keeps_is_told() -> None:
    assert dict(attributes_of(Env())) == {"seen": [], "state": 0, "other": {}, "_half": 3}
    env = Env()
    env.later()
    assert dict(attributes_of(env))["late"] == 1
    assert dict(attributes_of(env)) == vars(env)


@dataclass
class Row:
    state: int
    action: int


def test_generated_methods_count_too() -> None:
    assert attributes_of(Row(1, 2)) == [("state", 1), ("action", 2)]


def test_an_object_that_has_a_dictionary_is_told_whole() -> None:
    env = Env()
    vars(env)["by others"] = 5
    assert dict(attributes_of(env))["by others"] == 5


class Slotted(Base):
    __slots__ = ("slot",)

    def __init__(self) -> None:
        super().__init__()
        self.slot = 1


def test_a_slot_is_none_of_them() -> None:
    assert attributes_of(Slotted()) == [("seen", [])]


class Bare:
    pass


def test_what_only_others_have_set() -> None:
    bare = Bare()
    bare.value = 1  # type: ignore[attr-defined]
    assert attributes_of(bare) == [("value", 1)]


@pytest.mark.parametrize("held", [3, None, "text", object(), dis, int])
def test_things_of_all_kinds(held: Any) -> None:
    assert isinstance(attributes_of(held), list)


class Lazy:
    def __init__(self) -> None:
        self.ran: list[str] = []

    @functools.cached_property
    def table(self) -> list[int]:
        self.ran.append("table")
        return []

    def clear(self) -> None:
        self.table = [1]


def test_nothing_of_the_program_runs() -> None:
    lazy = Lazy()
    assert attributes_of(lazy) == [("ran", [])]
    assert lazy.ran == []


class Settings(dict):
    def __getattr__(self, name: str) -> Any:
        return self[name]


class Odd(Base):
    settings = Settings()

    def __init__(self) -> None:
        super().__init__()

        def inner() -> None:
            self.inner = 2

        inner()


def test_an_attribute_that_answers_in_its_own_way_and_a_function_inside() -> None:
    assert attributes_of(Odd()) == [("seen", []), ("inner", 2)]


class Much(Env):
    def unused(self) -> None: ...

    exec("def unused(self):\n" + "\n".join(f"    self.name_{n} = 0" for n in range(100)))

    def __init__(self) -> None:
        super().__init__()
        self.last = 1


def test_names_that_are_never_set_take_no_room() -> None:
    assert dict(attributes_of(Much()))["last"] == 1


class Memory(deque):  # type: ignore[type-arg]
    def __init__(self) -> None:
        super().__init__(range(1000))
        self.kept = 3


def test_a_container_is_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_referents", None)
    assert attributes_of(Memory()) == [("kept", 3)]


class Cache:
    def __init__(self) -> None:
        self.kept: dict[str, int] = {}

    def later(self) -> None:
        self.more = 1


@pytest.mark.skipif(not SLOWED, reason="a dictionary costs nothing here")
def test_a_single_dictionary_is_not_taken_for_its_own() -> None:
    cache = Cache()
    cache.kept["value"] = 1
    assert attributes_of(cache) == [("kept", {"value": 1})]


def test_many_names_need_long_arguments() -> None:
    body = "\n".join(f"        self.name_{n} = {n}" for n in range(300))
    scope: dict[str, Any] = {}
    exec(f"class Many:\n    def __init__(self):\n{body}\n", scope)
    found = attributes_of(scope["Many"]())
    assert found[:2] == [("name_0", 0), ("name_1", 1)]
    assert len(found) == 64


@pytest.mark.skipif(not SLOWED, reason="a dictionary costs nothing here")
def test_no_dictionary_is_made() -> None:
    env = Env()
    before = len(gc.get_referents(env))
    attributes_of(env)
    assert len(gc.get_referents(env)) == before
    vars(env)  # the check can fail
    assert len(gc.get_referents(env)) != before
