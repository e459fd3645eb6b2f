"""Functions of every kind that a program may have, to be hooked."""

from __future__ import annotations

from typing import Any

#: The arguments of each call of a hooked function.
Calls = list[tuple[Any, ...]]


def add(a: int, b: int = 2, *, c: int = 0) -> int:
    """Adds."""
    return a + b + c


class Thing:
    def __init__(self, value: int = 0) -> None:
        self.value = value

    def method(self, more: int = 0) -> int:
        return self.value + more

    @classmethod
    def made(cls, value: int) -> Thing:
        return cls(value)

    @staticmethod
    def twice(value: int) -> int:
        return 2 * value

    def __call__(self, value: int) -> int:
        return value

    def __getitem__(self, key: int) -> int:
        return key

    def __add__(self, other: int) -> int:
        return self.value + other

    def __len__(self) -> int:
        return 3

    @property
    def prop(self) -> int:
        return self.value

    def __getattr__(self, name: str) -> str:
        return name


class Heir(Thing):
    def method(self, more: int = 0) -> int:
        return super().method(more) + 1
