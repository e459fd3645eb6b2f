"""Slices as tracks: one per process and thread, in which slices nest or follow one another.

Tasks of one thread take turns, so a region may be left after one that was entered later. A trace
cannot show such crossing slices, so they get a separate track.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hotloop.analyze.timeline import offset_s
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.schema import Header
from hotloop.capture.slices import Slice, Slices
from hotloop.phases import is_of_thread


@dataclass
class Track:
    """Slices that never cross, from the earliest on; an outer one before those inside it."""

    thread: str
    #: The thread's first track is 0; those for slices that would cross follow.
    number: int
    slices: list[Slice] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)

    def fits(self, slice: Slice) -> bool:
        while self._open and self._open[-1] <= slice.begin_ns:
            self._open.pop()
        return not self._open or slice.end_ns <= self._open[-1]

    def add(self, slice: Slice) -> None:
        self.slices.append(slice)
        self._open.append(slice.end_ns)


@dataclass
class ProcessTracks:
    """All tracks of one process, and the offset from its times to the main clock."""

    name: str
    pid: int
    offset_ns: int
    tracks: list[Track]
    lost: int


def tracks_of(process: Slices, capture: Capture) -> ProcessTracks:
    """A process's slices on the clock of the program's first process, from its origin on."""
    header = process.header or Header()
    own = Shard(process.name, header)
    return ProcessTracks(
        name=own.role,
        pid=header.pid,
        offset_ns=round(offset_s(own, capture.launcher) * 1e9) - (header.origin_ns or 0),
        tracks=_tracks(process.slices),
        lost=process.lost,
    )


def _tracks(slices: list[Slice]) -> list[Track]:
    threads: dict[str, list[Slice]] = {}
    for slice in slices:
        threads.setdefault(_thread(slice.path), []).append(slice)
    found: list[Track] = []
    for thread in sorted(threads, key=lambda name: (name != "main", name)):
        own: list[Track] = []
        ordered = sorted(threads[thread], key=lambda s: (s.begin_ns, -s.end_ns, s.path.count("/")))
        for slice in ordered:
            track = next((each for each in own if each.fits(slice)), None)
            if track is None:
                track = Track(thread, len(own))
                own.append(track)
            track.add(slice)
        found += own
    return found


def _thread(path: str) -> str:
    return path.partition("/")[0][1:] if is_of_thread(path) else "main"
