"""Reads a capture: everything that is valid, and a count of what is not.

The program may have been killed or still be running, and the capture may be damaged. None of this
raises an error; only a missing capture raises `HotloopError`. A reader that is kept reads only
lines added since its last read.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hotloop.capture.growing import GrowingShard, Shard
from hotloop.capture.lines import LONGEST_LINE
from hotloop.capture.proofs import Proof, read_proof
from hotloop.capture.schema import Notes
from hotloop.errors import HotloopError

__all__ = ["Capture", "CaptureReader", "Shard"]

#: Windows kept of a process that is not the main one: enough for its trend, and few enough that
#: a thousand workers over a day fit into memory.
MOST_WINDOWS_OF_OTHERS = 64
#: And of all such processes together: with a thousand, single trends do not matter.
MOST_WINDOWS_OF_ALL_OTHERS = 16_384

_SHARD = re.compile(r"^(?P<name>.+?)(?:\.tail-(?P<tail>\d+))?\.jsonl$")


@dataclass
class Capture:
    """A whole run: the main process's shard first, then the others by name."""

    folder: Path
    shards: list[Shard]

    @property
    def main(self) -> Shard:
        return self.shards[0]

    @property
    def launcher(self) -> Shard:
        """The process that the user started; another may train (`analyze.processes.training`)."""
        swapped = Notes.trains_in in self.main.notes and len(self.shards) > 1
        return self.shards[1] if swapped else self.main

    @cached_property
    def proof(self) -> Proof | None:
        """The result of `hotloop prove` for it, if any."""
        return read_proof(self.folder)

    @property
    def damaged(self) -> int:
        return sum(shard.damaged for shard in self.shards)

    @property
    def damaged_values(self) -> int:
        return sum(shard.damaged_values for shard in self.shards)


class CaptureReader:
    """Reads a capture that may still grow; each `read` takes only what is new."""

    def __init__(
        self,
        folder: str | Path,
        most_of_main: int | None = None,
        most_of_others: int | None = MOST_WINDOWS_OF_OTHERS,
    ) -> None:
        self.folder = Path(folder)
        self._most_of_main = most_of_main
        self._most_of_others = most_of_others
        self._shards: dict[str, GrowingShard] = {}
        self._read_up_to: dict[Path, int] = {}
        self._processes = 0

    def read(self, final: bool = False) -> Capture:
        """Everything written so far; with `final`, also a last line without a line end."""
        with _without_collecting():
            shards = self.processes(final)
        if not shards:
            raise HotloopError(f"{self.folder}: not a capture (it holds no shard that can be read)")
        shards.sort(key=lambda shard: (shard.name != "main", shard.name))
        return Capture(self.folder, shards)

    def processes(self, final: bool = False) -> list[Shard]:
        """Every process by itself."""
        files = self._files()
        self._processes = len({name for _, name, _ in files})
        for path, name, is_tail in files:
            self._read_file(path, self._growing(name), is_tail, final)
        return [shard for each in self._shards.values() if (shard := each.shard()) is not None]

    def _files(self) -> list[tuple[Path, str, bool]]:
        """Shards and tails; tails first, because windows move from a tail to its shard."""
        if not self.folder.exists():
            raise HotloopError(f"{self.folder}: no such capture")
        if not self.folder.is_dir():
            raise HotloopError(
                f"{self.folder}: not a capture (a capture is a folder that `hotloop run` creates)"
            )
        found: list[tuple[Path, str, bool]] = []
        for path in sorted(self.folder.iterdir()):
            match = _SHARD.match(path.name)
            if match and path.is_file():
                found.append((path, match["name"], match["tail"] is not None))
        return sorted(found, key=lambda each: not each[2])

    def _growing(self, name: str) -> GrowingShard:
        if name not in self._shards:
            most = self._most_of(name)
            coarse = most is not None and most < MOST_WINDOWS_OF_OTHERS
            self._shards[name] = GrowingShard(name, most, coarse)
        return self._shards[name]

    def _most_of(self, name: str) -> int | None:
        """How many windows are kept of a process."""
        if name == "main":
            return self._most_of_main
        if self._most_of_others is None:
            return None
        return max(min(self._most_of_others, MOST_WINDOWS_OF_ALL_OTHERS // self._processes), 1)

    def _read_file(self, path: Path, shard: GrowingShard, is_tail: bool, final: bool) -> None:
        try:
            with open(path, "rb") as file:
                file.seek(self._read_up_to.get(path, 0))
                while line := file.readline(LONGEST_LINE):
                    if not line.endswith(b"\n") and not final and len(line) < LONGEST_LINE:
                        break  # still being written
                    if line.strip():
                        shard.take(line, is_tail)
                    self._read_up_to[path] = file.tell()
        except OSError as error:
            if not is_tail:  # a tail may be gone by now, and its windows are in the shard
                raise HotloopError(f"{path}: cannot be read ({error.strerror})") from None


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Pause the garbage collector, which would only scan a growing heap of plain data."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
