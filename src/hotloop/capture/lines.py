"""The lines of a shard: how each is written, and how each is read back without trust.

Five kinds, told apart by their one-letter keys: the header (`hotloop`), a window (`w`), new
stacks (`k`), notes that join the header (`n`) and the end (`e`). Reading never guesses: a line
that does not fit raises `DamagedError`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hotloop import histogram
from hotloop.capture.device import DeviceDelta, from_row
from hotloop.capture.window import PhaseDelta, Samples, Window

SCHEMA = "capture"
VERSION = 1

#: What the text of a histogram is made of.
_HISTOGRAM_LETTERS = b"0123456789:,;"

#: Nothing in a capture is larger; a damaged number must not become a giant one.
_LARGEST = 2**63
#: Notes nest less deeply.
_DEEPEST = 20


class DamagedError(ValueError):
    """A line that is not what a shard holds."""


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
    # Only a run that uses a device has these.
    device = {
        key: {path: each.row() for path, each in table.items()}
        for key, table in (("d", window.device), ("dp", window.device_parts))
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
            **device,
        }
    )


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


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=True, default=str)


def parse(line: bytes) -> dict[str, Any]:
    """One line as a JSON object, or `DamagedError`."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DamagedError(str(error)) from None
    if not isinstance(document, dict):
        raise DamagedError("not an object")
    return document


def bounded(value: Any, depth: int = 0) -> Any:
    """What a header or notes hold, in which anything may stand: without numbers that are none, or
    that no machine counts up to, and without depths that no note has. Each of these is None."""
    if isinstance(value, dict):
        return {key: bounded(each, depth + 1) for key, each in value.items() if depth < _DEEPEST}
    if isinstance(value, list):
        return [bounded(each, depth + 1) for each in value if depth < _DEEPEST]
    if isinstance(value, (int, float)) and not -_LARGEST < value < _LARGEST:
        return None
    return value


def read_window(document: dict[str, Any]) -> Window:
    """A window from its line, every field checked."""
    try:
        first, last = (whole(n) for n in document["w"])
        begin, end = (whole(n) for n in document["t"])
        phases = _read_phases(document["p"])
        counters, gauges = _read_numbers(document["c"]), _read_numbers(document["g"])
        window = Window(first, last, begin, end, phases, counters, {}, gauges)
        window.samples = _read_samples(document["s"])
        window.loop_last_ns = whole(document["l"])
        window.device = _read_device(document.get("d", {}))
        window.device_parts = _read_device(document.get("dp", {}))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DamagedError(f"not a window: {error}") from None
    if first > last or begin > end:
        raise DamagedError("a window that ends before it begins")
    return window


def _read_phases(document: dict[str, Any]) -> dict[str, PhaseDelta]:
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


def _read_device(document: dict[str, Any]) -> dict[str, DeviceDelta]:
    device: dict[str, DeviceDelta] = {}
    for path, row in document.items():
        if type(row) is not list:
            raise ValueError("not a row")
        _all_whole(row)
        device[_text(path)] = from_row(row)
    return device


def _read_samples(document: dict[str, Any]) -> Samples:
    samples: Samples = {}
    numbers: list[Any] = []
    for path, rows in document.items():
        for row in rows:
            stack, mode, count, ns = row
            samples[path, stack, mode] = [count, ns]
            numbers += row
    _all_whole(numbers)
    return samples


def _all_whole(numbers: list[Any]) -> None:
    """As `whole` for each, but quick: most of a capture is these."""
    if set(map(type, numbers)) - {int}:
        raise ValueError("not all are whole numbers")
    if numbers and not 0 <= min(numbers) <= max(numbers) < _LARGEST:
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
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise ValueError(f"{value!r:.40} is not a whole number")
    return value


def _read_numbers(document: dict[str, Any]) -> dict[str, float]:
    """Counters or gauges; the names of a JSON object are always text."""
    for value in document.values():
        kind = type(value)
        if kind is int:
            if not -_LARGEST < value < _LARGEST:
                raise ValueError("a number out of range")
        elif kind is not float or not -1e300 < value < 1e300:
            raise ValueError(f"{value!r:.40} is not a number")
    return document


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r:.40} is not text")
    return value
