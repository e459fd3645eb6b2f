"""The progress of a run so far, over all of its processes.

Each process writes its counts with its windows, so the sum is known to within about a second.
Workers of a vector environment count the same steps as the process that drives them, so of a
process and its children, the larger number counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hotloop.errors import HotloopError
from hotloop.phases import REGION_LOOP, flags_of, names_of

if TYPE_CHECKING:
    from hotloop.capture.reader import CaptureReader, Shard

Process = tuple[str, int]


class Counting:
    """The sum of all processes of a capture that is still growing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader: CaptureReader | None = None

    def others(self) -> bool:
        """Whether there is a process other than the main one."""
        try:
            return any(not path.name.startswith("main.") for path in self._folder.glob("*.jsonl"))
        except OSError:
            return False

    def total(self, counter: str) -> float:
        """A counter so far; 0 if nothing can be read."""
        return total_of(self._shards(), counter)

    def trains(self) -> bool:
        """Whether any process has entered its training loop."""
        return any(
            flags_of(name) & REGION_LOOP
            for shard in self._shards()
            for window in shard.windows
            for path in window.phases
            for name in names_of(path)
        )

    def _shards(self) -> list[Shard]:
        from hotloop.capture.reader import CaptureReader  # most runs are not stopped early

        if self._reader is None:
            self._reader = CaptureReader(self._folder, most_of_main=1, most_of_others=1)
        try:
            return self._reader.processes()
        except (HotloopError, OSError):
            return []


def total_of(shards: list[Shard], counter: str) -> float:
    """A counter over processes, some of which drive others."""
    main = next((_process(shard) for shard in shards if shard.name == "main"), None)
    own: dict[Process | None, float] = {}
    below: dict[Process | None, list[Process]] = {}
    for shard in shards:
        process = _process(shard)
        counted = sum(window.counters.get(counter, 0) for window in shard.windows)
        own[process] = own.get(process, 0.0) + counted
    for shard in shards:
        process, parent = _process(shard), _parent(shard)
        if process == main:
            continue
        # Processes started by others (Ray, a fork server) count as the main process's.
        started = below.setdefault(parent if parent in own and parent != process else main, [])
        if process not in started:
            started.append(process)

    def total(process: Process | None, depth: int = 0) -> float:
        if depth > len(own):
            return 0.0  # a reused process id
        others = sum(total(each, depth + 1) for each in below.get(process, ()))
        return max(own.get(process, 0.0), others)

    return total(main)


def _process(shard: Shard) -> Process:
    return shard.header.host, shard.header.pid


def _parent(shard: Shard) -> Process:
    parent = shard.header.parent
    return shard.header.host, -1 if parent is None else parent
