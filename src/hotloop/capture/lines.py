"""The lines of a shard: writing them, and reading them as untrusted input.

Six kinds, identified by their keys: the header (`hotloop`), a window (`w`), a summary of the
windows before it (`m`), new stacks (`k`), notes (`n`) and the end (`e`). Merged windows and
summaries are packed: their numbers, and the window's line compressed (`z`), so a reader can skip
them without decoding. Reading never guesses. A line of no known kind, or a window without its
times, raises `DamagedError`; inside a window a bad value costs that value only, and is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from hotloop import histogram
from hotloop.capture import episodes, packing, schema, strictness
from hotloop.capture.device_delta import DeviceDelta, from_row
from hotloop.capture.records import LARGEST, Damage
from hotloop.capture.window import PhaseDelta, Samples, Window

K = TypeVar("K")
V = TypeVar("V")

SCHEMA = "capture"
#: 2 packs merged windows and adds summaries.
VERSION = 2

#: No line that hotloop writes, packed or not, comes near this; a damaged file without line ends
#: must not fill the memory.
LONGEST_LINE = 64 * 1024 * 1024
#: Digits of a number that is out of range.
_DIGITS = len(str(LARGEST))
#: How the lines of windows and of summaries begin; their numbers follow.
_WINDOW, _SUMMARY = b'{"w":[', b'{"m":['

#: The characters of a histogram's text.
_HISTOGRAM_LETTERS = b"0123456789:,;"

#: Largest amount of a counter that is a fraction.
_LARGEST_FRACTION = 1e300


class DamagedError(ValueError):
    """A line that is not valid in a shard."""


@dataclass(frozen=True)
class StackRow:
    """One frame on top of a parent stack; `parent` 0 is the outside."""

    id: int
    parent: int
    file: str
    function: str
    first_line: int
    line: int


def header_line(header: dict[str, Any]) -> str:
    return _dump({"hotloop": f"{SCHEMA}/{VERSION}", **header})


def notes_line(notes: dict[str, Any]) -> str:
    return _dump({"n": notes})


def end_line(end: dict[str, Any]) -> str:
    return _dump({"e": end})


def stacks_line(stacks: list[StackRow]) -> str:
    rows = [[s.id, s.parent, s.file, s.function, s.first_line, s.line] for s in stacks]
    return _dump({"k": rows})


def window_line(window: Window) -> str:
    samples: dict[str, list[list[int]]] = {}
    for (path, stack, mode), (count, ns) in window.samples.items():
        samples.setdefault(path, []).append([stack, mode, count, ns])
    # Only a run that uses a device, or whose episodes end, has these.
    more = {
        key: {name: each.row() for name, each in table.items()}
        for key, table in (
            ("d", window.device),
            ("dp", window.device_parts),
            ("r", window.episodes),
        )
        if table
    }
    return _dump(
        {
            "w": [window.first, window.last],
            "t": [window.begin_ns, window.end_ns],
            "p": {path: _phase_row(delta) for path, delta in window.phases.items()},
            "c": window.counters,
            "s": samples,
            "g": window.gauges,
            "l": window.loop_last_ns,
            **more,
        }
    )


def packed_line(window: Window) -> str:
    """A window in its compact form."""
    return _packed("w", window)


def summary_line(window: Window) -> str:
    """The windows before this line as one, which readers of many processes decode instead."""
    return _packed("m", window)


def _packed(kind: str, window: Window) -> str:
    content = packing.packed(window_line(window).encode())
    return _dump({kind: [window.first, window.last], "z": content})


class Numbers(NamedTuple):
    """The numbers of a window's line that can be read without decoding it."""

    is_summary: bool
    first: int
    last: int


def numbers_of(line: bytes) -> Numbers | None:
    """The numbers of the windows in a line; None for any other line."""
    if not line.startswith((_WINDOW, _SUMMARY)):
        return None
    first, _, last = line[len(_WINDOW) : line.find(b"]")].partition(b",")
    if not (first.isdigit() and last.isdigit() and len(first) <= len(last) < _DIGITS):
        return None
    return Numbers(line.startswith(_SUMMARY), int(first), int(last))


def _phase_row(delta: PhaseDelta) -> list[Any]:
    return [
        delta.calls,
        delta.self_ns,
        delta.elapsed_ns,
        delta.min_ns,
        delta.max_ns,
        delta.resident_peak,
        delta.first_ns,
        delta.last_ns,
        histogram.encode(delta.histogram),
    ]


#: Not `json.dumps`, which a program may replace, and count its own calls of.
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, default=str).encode


def _dump(document: dict[str, Any]) -> str:
    return _encode(document)


def parse(line: bytes) -> dict[str, Any]:
    """One line as a JSON object, or `DamagedError`."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedError(str(error)) from None
    if not isinstance(document, dict):
        raise DamagedError("not an object")
    return document


#: Exceptions that reading a value of the wrong shape can raise.
_BAD_SHAPE = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def read_window(document: dict[str, Any], damage: Damage) -> Window:
    """A window from its line; values that do not fit are dropped and counted."""
    if "z" in document:
        document = _unpacked(document)
    try:
        first, last = (whole(n) for n in document["w"])
        begin, end = (whole(n) for n in document["t"])
        loop_last = whole(document["l"])
    except _BAD_SHAPE as error:
        raise DamagedError(f"not a window: {error}") from None
    if first > last or begin > end:
        raise DamagedError("a window that ends before it begins")
    return Window(
        first,
        last,
        begin,
        end,
        phases=_tolerant(_phases, document.get("p"), damage),
        counters=_numbers(_table(document.get("c"), damage), damage),
        samples=_tolerant(_samples, document.get("s"), damage, _rows),
        gauges=_gauges(_table(document.get("g"), damage), damage),
        loop_last_ns=loop_last,
        device=_tolerant(_device, document.get("d", {}), damage),
        device_parts=_tolerant(_device, document.get("dp", {}), damage),
        episodes=_tolerant(_episodes, document.get("r", {}), damage),
    )


def _unpacked(document: dict[str, Any]) -> dict[str, Any]:
    try:
        inner = parse(packing.unpacked(document["z"], LONGEST_LINE))
    except packing.DAMAGE as error:
        raise DamagedError(f"not a packed window: {error}") from None
    if inner.get("w") != document.get("w", document.get("m")):
        raise DamagedError("a packed window with other numbers than its line")
    return inner


def _table(value: Any, damage: Damage) -> dict[str, Any]:
    if type(value) is dict:
        return value
    damage.values += 1
    return {}


def _entries(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return ({key: value} for key, value in table.items())


def _rows(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path, rows in table.items():
        yield from ({path: [row]} for row in (rows if type(rows) is list else [rows]))


def _tolerant(
    read: Callable[[dict[str, Any]], dict[K, V]],
    value: Any,
    damage: Damage,
    parts: Callable[[dict[str, Any]], Iterator[dict[str, Any]]] = _entries,
) -> dict[K, V]:
    """Read a table at once, which is quick; if any of it is damaged, part by part."""
    table = _table(value, damage)
    try:
        return read(table)
    except _BAD_SHAPE:
        found: dict[K, V] = {}
        for entry in parts(table):
            try:
                found.update(read(entry))
            except _BAD_SHAPE:
                damage.values += 1
        return found


def _phases(document: dict[str, Any]) -> dict[str, PhaseDelta]:
    phases: dict[str, PhaseDelta] = {}
    numbers: list[Any] = []
    for path, (*fields, counts) in document.items():
        numbers += fields
        calls, own, elapsed, low, high, resident, begin, last = fields
        if _text(counts).encode().translate(None, _HISTOGRAM_LETTERS):
            raise ValueError("not a histogram")
        stored = histogram.Stored(counts)
        phases[path] = PhaseDelta(calls, own, elapsed, low, high, resident, begin, last, stored)
    _all_whole(numbers)
    return phases


def _device(document: dict[str, Any]) -> dict[str, DeviceDelta]:
    device: dict[str, DeviceDelta] = {}
    for path, row in document.items():
        if type(row) is not list:
            raise ValueError("not a row")
        _all_whole(row)
        device[path] = from_row(row)
    return device


def _episodes(document: dict[str, Any]) -> dict[str, episodes.EpisodeDelta]:
    known = {kind: row for kind, row in document.items() if kind in episodes.KINDS}
    return {kind: episodes.from_row(row) for kind, row in known.items()}


def _samples(document: dict[str, Any]) -> Samples:
    samples: Samples = {}
    numbers: list[Any] = []
    for path, rows in document.items():
        for row in rows:
            stack, mode, count, ns = row
            numbers += row
            samples[path, stack, mode] = [count, ns]
    _all_whole(numbers)
    return samples


def _all_whole(numbers: list[Any]) -> None:
    """Like `whole` for each value, but fast: most of a capture is such values."""
    if set(map(type, numbers)) - {int}:
        raise ValueError("not all are whole numbers")
    if numbers and not 0 <= min(numbers) <= max(numbers) < LARGEST:
        raise ValueError("a number out of range")


def read_stacks(document: dict[str, Any]) -> list[StackRow]:
    """New stacks from their line, every field checked."""
    try:
        return [
            StackRow(whole(i), whole(p), _text(f), _text(name), whole(a), whole(b))
            for i, p, f, name, a, b in document["k"]
        ]
    except (TypeError, ValueError) as error:
        raise DamagedError(f"not stacks: {error}") from None


def whole(value: Any) -> int:
    """A whole number that is in range, or ValueError."""
    if type(value) is not int or not 0 <= value < LARGEST:
        raise ValueError(f"{value!r:.40} is not a whole number")
    return value


def _gauges(document: dict[str, Any], damage: Damage) -> dict[str, float]:
    strictness.require("gauge", document, schema.GAUGES)
    known = {name: value for name, value in document.items() if name in schema.GAUGES}
    return _numbers(known, damage)


def _numbers(document: dict[str, Any], damage: Damage) -> dict[str, float]:
    """Counters or gauges; the names of a JSON object are always text."""
    good = usable(document)
    damage.values += len(document) - len(good)
    return good


def usable(values: Mapping[str, Any]) -> dict[str, float]:
    """Only those values that are numbers which can be added up; `True` counts as 1."""
    good: dict[str, float] = {}
    for name, value in values.items():
        kind = type(value)
        if kind is float:
            # A comparison with NaN is false.
            if -_LARGEST_FRACTION < value < _LARGEST_FRACTION:
                good[name] = value
        elif kind in (int, bool) and -LARGEST < value < LARGEST:
            good[name] = int(value)
    return good


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r:.40} is not text")
    return value
