"""The course of a run, beyond its sums: series, events, processes, single calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time import series, step_cost
from hotloop.analyze.over_time.interruptions import Interruption, interruptions
from hotloop.analyze.over_time.tracks import ProcessTracks, tracks_of
from hotloop.analyze.over_time.window_table import Row, window_rows
from hotloop.analyze.processes.workers import busy_shares
from hotloop.analyze.timeline import offset_s
from hotloop.capture.reader import Capture
from hotloop.capture.slices import read_slices


class RunHistory:
    """The contents of a capture besides its sums."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    @property
    def folder(self) -> Path:
        return self._capture.folder

    @property
    def categories(self) -> dict[str, str]:
        """Region -> the category that the program gave it."""
        return self._capture.main.notes.categories

    @property
    def later_s(self) -> float:
        """How much later the process that trains began than the one that launched it."""
        return offset_s(self._capture.main, self._capture.launcher)

    def points(self, most: int = series.MOST_POINTS) -> list[series.SeriesPoint]:
        """The training process over time, in at most this many points."""
        return series.points(self._capture.main, most=most)

    def every_point(self) -> list[series.SeriesPoint]:
        """The same, a point per window."""
        return self.points(most=max(len(self._capture.main.windows), 1))

    def parts(self, analysis: Analysis) -> list[series.SeriesPoint]:
        """The loop in parts with about equal numbers of steps, two iterations at least in each."""
        learns = [p.calls for p in analysis.phases if p.process == "main" and p.name == "learn"]
        return step_cost.per_step(self.every_point(), sum(learns))

    def events(self) -> list[Interruption]:
        """Evaluations, checkpoints and compilations of the training process."""
        return interruptions(self._capture.main.windows)

    def busy(self, end_s: float, cells: int) -> list[list[float | None]]:
        """For each process its busy share in equal parts of the run; None if it did not run."""
        main = self._capture.main
        offsets = [(shard, offset_s(shard, main)) for shard in self._capture.shards]
        return [busy_shares(shard, -at, end_s - at, cells) for shard, at in offsets]

    def tracks(self) -> list[ProcessTracks]:
        """The single calls that `run --trace` kept, by process and thread."""
        return [tracks_of(each, self._capture) for each in read_slices(self.folder)]

    def rows(self) -> Iterator[Row]:
        """Every phase of every window, as rows of a table."""
        return window_rows(self._capture)
