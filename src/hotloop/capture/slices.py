"""Single calls, kept with `run --trace`: one small file per process, beside its shard.

A line is the header or a *block*: the calls of one window, packed. Calls that were open as a window
closed are cut there, and `read_slices` joins them again; so a program that was killed leaves
everything up to its last window.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hotloop.capture import lines, packing
from hotloop.capture.own_file import OwnFile
from hotloop.capture.schema import Header
from hotloop.errors import HotloopError

SCHEMA = "trace/1"
ENDING = ".trace"

#: A call as the region clock lays it out (`Slice` in `measure/native/core.h`): begin, end, node
#: and a mark of the clock's own.
_FIELDS = "QQII"
SLICE = struct.Struct("=" + _FIELDS)
_ON_DISK = {"little": struct.Struct("<" + _FIELDS), "big": struct.Struct(">" + _FIELDS)}
#: Maximum size of an unpacked block: two million calls, many times the content of a window.
_LARGEST_BLOCK = 48 * 1024 * 1024

#: Exceptions that reading an invalid block can raise.
_DAMAGE = (*packing.DAMAGE, KeyError, AttributeError, struct.error)


@dataclass(slots=True)
class Slice:
    """One call: where in the region tree, and from when to when (ns of the process's clock)."""

    path: str
    begin_ns: int
    end_ns: int


@dataclass
class Slices:
    """All calls that one process kept."""

    name: str
    header: Header | None = None
    slices: list[Slice] = field(default_factory=list)
    #: Calls that were dropped for lack of room.
    lost: int = 0
    damaged: int = 0


class SliceWriter:
    """Writes the calls of one process; the file is created with the first block."""

    def __init__(self, folder: Path, name: str, header: dict[str, Any]) -> None:
        self._paths_said = 0
        self._file = OwnFile(folder / (name + ENDING), new=True)
        self._write({"hotloop": SCHEMA, **header})

    def block(self, packed: bytes, lost: int, end_ns: int, paths: list[str]) -> None:
        """The calls of one window; `paths` are the nodes by number; only new ones are written."""
        new = {str(n): paths[n] for n in range(self._paths_said, len(paths))}
        self._paths_said = len(paths)
        data = packing.packed(packed, level=1)
        self._write({"t": end_ns, "p": new, "lost": lost, "d": data})

    def close(self) -> None:
        self._file.close()

    def _write(self, document: dict[str, Any]) -> None:
        data = json.dumps(document, separators=(",", ":"), default=str).encode() + b"\n"
        written = 0
        while written < len(data):
            written += self._file.write(data[written:])


def read_slices(folder: Path) -> list[Slices]:
    """The calls of every process, the main one first; empty without `--trace`."""
    found = []
    for path in sorted(folder.glob("*" + ENDING)):
        process = _read(path)
        if process.header is not None:
            found.append(process)
    return sorted(found, key=lambda each: (each.name != "main", each.name))


def _read(path: Path) -> Slices:
    process = Slices(path.name.removesuffix(ENDING))
    paths: dict[int, str] = {}
    #: Calls cut at a window's end, by path and position: the next block continues them.
    cut: dict[tuple[str, int], Slice] = {}
    try:
        with open(path, "rb") as file:
            while line := file.readline(lines.LONGEST_LINE):
                try:
                    cut = _take(process, paths, cut, lines.parse(line))
                except _DAMAGE:
                    process.damaged += 1
    except OSError as error:
        raise HotloopError(f"{path}: cannot be read ({error.strerror})") from None
    return process


def _take(
    process: Slices,
    paths: dict[int, str],
    cut: dict[tuple[str, int], Slice],
    document: dict[str, Any],
) -> dict[tuple[str, int], Slice]:
    if document.get("hotloop") == SCHEMA:
        process.header = process.header or Header(document)
        return cut
    end_ns, lost = lines.whole(document["t"]), lines.whole(document["lost"])
    paths.update((int(number), str(text)) for number, text in document["p"].items())
    process.lost += lost
    cut_here: dict[tuple[str, int], Slice] = {}
    for begin, end, node in _unpack(
        document["d"], process.header.byteorder if process.header else None
    ):
        path = paths[node]
        # Another thread may have continued before this one took the slices.
        known = cut.get((path, begin)) or cut_here.get((path, begin))
        if known is not None:
            known.end_ns = end
        else:
            known = Slice(path, begin, end)
            process.slices.append(known)
        if end == end_ns:
            cut_here[path, end] = known
    return cut_here


def _unpack(data: str, byteorder: str | None) -> Iterator[tuple[int, int, int]]:
    packed = packing.unpacked(data, _LARGEST_BLOCK)
    layout = _ON_DISK["big" if byteorder == "big" else "little"]
    for begin, end, node, _ in layout.iter_unpack(packed):
        yield begin, end, node
