"""Typed records: declared fields, decoded once from untrusted input.

A record declares its fields as class attributes. On the class a field is its name, for writers; on
an object it is the decoded value, for readers:

    class Machine(Record):
        cores = optional(whole, "CPU cores that the process may use")

    {Machine.cores: 4}               # what a writer writes
    Machine({"cores": 4}).cores      # what a reader reads: int | None

A value of the wrong type or out of range is dropped and counted; the others stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar, overload

from hotloop.capture.strictness import require

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R", bound="Record")

#: Largest valid number in a capture; anything larger is damage.
LARGEST = 2**63
#: Longest text of a note; anything longer is damage.
LONGEST_TEXT = 100_000

#: Plain values that a report copies without interpreting them.
Scalar = str | float | bool | None


class BadValueError(ValueError):
    """A value of the wrong type for its field."""


class Damage:
    """Counts the values that were dropped."""

    def __init__(self) -> None:
        self.values = 0


Decode = Callable[[object, Damage], T]


# -- decoders --


def text(value: object, _: Damage) -> str:
    if type(value) is not str or len(value) > LONGEST_TEXT:
        raise BadValueError("not a text")
    return value


def is_number(value: object) -> bool:
    """Whether this is a finite number in range; `True` is not a number."""
    # A comparison with NaN is false.
    return type(value) in (int, float) and -LARGEST < value < LARGEST  # type: ignore[operator]


def number(value: object, _: Damage) -> float:
    if not is_number(value):
        raise BadValueError("not a number")
    return value  # type: ignore[return-value]


def whole(value: object, _: Damage) -> int:
    if type(value) is not int or not -LARGEST < value < LARGEST:
        raise BadValueError("not a whole number")
    return value


def flag(value: object, _: Damage) -> bool:
    if type(value) is not bool:
        raise BadValueError("neither true nor false")
    return value


def scalar(value: object, damage: Damage) -> Scalar:
    if value is None or type(value) is bool:
        return value
    return text(value, damage) if type(value) is str else number(value, damage)


def list_of(decode: Decode[T]) -> Decode[list[T]]:
    def decode_list(value: object, damage: Damage) -> list[T]:
        if type(value) is not list:
            raise BadValueError("not a list")
        return list(_good(decode, value, damage))

    return decode_list


def table_of(decode: Decode[T]) -> Decode[dict[str, T]]:
    def decode_table(value: object, damage: Damage) -> dict[str, T]:
        if type(value) is not dict:
            raise BadValueError("not a table")
        found = {}
        for key, each in value.items():
            for good in _good(decode, (each,), damage):
                found[key] = good
        return found

    return decode_table


def pair_of(first: Decode[A], second: Decode[B]) -> Decode[tuple[A, B]]:
    def decode_pair(value: object, damage: Damage) -> tuple[A, B]:
        one, other = row(value, 2)
        return first(one, damage), second(other, damage)

    return decode_pair


def row(value: object, length: int) -> list[Any]:
    """A list of exactly this length, its elements not yet decoded."""
    if type(value) is not list or len(value) != length:
        raise BadValueError(f"not a row of {length}")
    return value


def record(kind: type[R]) -> Decode[R]:
    def decode_record(value: object, damage: Damage) -> R:
        if type(value) is not dict:
            raise BadValueError("not a record")
        found = kind(value)
        damage.values += found.damaged
        return found

    return decode_record


def _good(decode: Decode[T], values: Iterable[object], damage: Damage) -> Iterable[T]:
    for value in values:
        try:
            yield decode(value, damage)
        except BadValueError:
            damage.values += 1


# -- fields --


class Field(Generic[T]):
    """One declared key of a record: its type, its meaning, and how two values merge."""

    def __init__(
        self,
        decode: Decode[T],
        default: Callable[[], T],
        meaning: str,
        updates: bool = False,
        key: str = "",
    ) -> None:
        self.decode = decode
        self.default = default
        self.meaning = meaning
        #: Whether a later value joins the keys of the earlier one, rather than replacing it.
        self.updates = updates
        #: Its key in a capture: the attribute's name, unless another is given.
        self.name = key

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self.name = self.name or name
        owner.fields = {**owner.fields, self.name: self}

    @overload
    def __get__(self, instance: None, owner: type[Record]) -> str: ...
    @overload
    def __get__(self, instance: Record, owner: type[Record]) -> T: ...
    def __get__(self, instance: Record | None, owner: type[Record]) -> str | T:
        if instance is None:
            return self.name
        value: T = instance.values[self.name]
        return value


def optional(decode: Decode[T], meaning: str, key: str = "") -> Field[T | None]:
    """A field that is None if it was not recorded."""
    return Field(decode, lambda: None, meaning, key=key)


def required(decode: Decode[T], default: T, meaning: str) -> Field[T]:
    """A field with a default."""
    return Field(decode, lambda: default, meaning)


def rows(decode: Decode[T], meaning: str) -> Field[list[T]]:
    """A list, empty if it was not recorded."""
    return Field(list_of(decode), list, meaning)


def table(decode: Decode[T], meaning: str) -> Field[dict[str, T]]:
    """A dictionary, empty if it was not recorded; later keys join earlier ones."""
    return Field(table_of(decode), dict, meaning, updates=True)


def part(kind: type[R], meaning: str) -> Field[R]:
    """A record inside this one."""
    return Field(record(kind), kind, meaning, updates=True)


class Record:
    """Declared fields, decoded from what a line of a capture holds."""

    fields: ClassVar[dict[str, Field[Any]]] = {}

    def __init__(self, raw: Mapping[str, object] | None = None) -> None:
        #: The raw data, for writing it again.
        self.raw: dict[str, object] = dict(raw or {})
        self.values: dict[str, Any] = {}
        require(type(self).__name__, self.raw, self.fields)
        damage = Damage()
        self._known = {name for name, field in self.fields.items() if self._take(field, damage)}
        #: Values that were dropped.
        self.damaged = damage.values

    def _take(self, field: Field[Any], damage: Damage) -> bool:
        value = self.raw.get(field.name)
        for good in _good(field.decode, () if value is None else (value,), damage):
            self.values[field.name] = good
            return True
        self.values[field.name] = field.default()
        return False

    def __contains__(self, name: str) -> bool:
        """Whether a field was recorded."""
        return name in self._known

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.values == other.values

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"

    def recorded(self) -> dict[str, Any]:
        """The fields that were recorded, decoded."""
        return {name: self.values[name] for name in self.fields if name in self._known}

    def changed(self: R, changes: Mapping[str, object]) -> R:
        """The same with other values for some keys."""
        return type(self)({**self.raw, **changes})


def merge_raw(kind: type[Record], earlier: dict[str, Any], later: Mapping[str, Any]) -> int:
    """Add what was recorded later; returns how many values did not fit and were dropped."""
    dropped = 0
    for name, value in later.items():
        field = kind.fields.get(name)
        if field is not None and field.updates and name in earlier:
            if type(value) is not dict or type(earlier[name]) is not dict:
                dropped += 1
                continue
            value = {**earlier[name], **value}
        earlier[name] = value
    return dropped
