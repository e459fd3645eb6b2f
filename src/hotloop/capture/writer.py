"""Writes one process's shard: append-only, readable after any kind of death, bounded in size.

Windows close every second. A fresh one goes to the shard's *tail*, a small file beside it; when a
tail is full its windows are merged into one, which is appended to the shard, and the tail is left
for a new one. How many windows make a full tail doubles as the run grows, so the shard grows with
the logarithm of the run while the last windows always stay one second long. A reader who finds a
window in both counts it once, by its number. After every few windows of the shard comes their
summary, which is all that a report of many processes reads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from os import unlink
from pathlib import Path
from typing import Any

from hotloop.capture import lines
from hotloop.capture.own_file import OwnFile
from hotloop.capture.window import Window, nothing_before, same_part, thinned_samples
from hotloop.error_output import write_line

#: Merged windows of one length before the length doubles. 64 keeps 60 phases over 24 hours
#: below 20 MB, and is still more points than a trend needs.
WINDOWS_PER_LENGTH = 64
#: Number of different stacks that a merged window keeps; they represent the others.
MOST_SAMPLES = 120
#: Windows that one summary covers: fewer than 40 summaries for eight hours.
WINDOWS_PER_SUMMARY = 16
#: Longest merged window, in windows: a tail must stay small (some megabytes), and so must a week's
#: shards: a training process and four workers leave 34 MB, with half of this 52 MB
#: (`benchmarks/scale.py`).
LONGEST = 1024


def warn(text: str) -> None:
    """Print a line to standard error, unless it is closed."""
    write_line(sys.stderr, f"hotloop: {text}")


class ShardWriter:
    """Writes the shard of one process. Disk errors are reported once and never raised."""

    def __init__(
        self, folder: Path, name: str, header: dict[str, Any], warn: Callable[[str], None] = warn
    ) -> None:
        self._folder = folder
        self._name = name
        self._warn = warn
        self._length = 1
        self._merged_at_length = 0
        #: The windows of the tail, merged as they close: a long tail must not fill the memory.
        self._pending: Window | None = None
        #: The windows of the shard since its last summary, as one.
        self._summary: Window | None = None
        self._summarized = 0
        self._tail_number = 0
        self._tail: OwnFile | None = None
        self._failing = False
        self._torn: set[OwnFile] = set()
        #: Lines that could not be written yet and must not be lost (a full disk).
        self._waiting: list[str] = []
        self._shard = OwnFile(self._folder / f"{name}.jsonl", new=True)
        self._append(lines.header_line(header))

    def notes(self, notes: dict[str, Any]) -> None:
        """Facts that become known later; they join the header."""
        self._append(lines.notes_line(notes))

    def stacks(self, stacks: list[lines.StackRow]) -> None:
        if stacks:
            self._append(lines.stacks_line(stacks))

    def window(self, window: Window) -> None:
        """Keep a closed window."""
        if self._length == 1:
            self._pending = window
        else:
            self._pending = self._pending or nothing_before(window)
            self._pending.add(window)
        if self._pending.last - self._pending.first + 1 >= self._length:
            self._fold()
        else:
            self._write_tail(lines.window_line(window))

    def end(self, end: dict[str, Any]) -> None:
        """The process ends normally."""
        self._fold()
        self._append(lines.end_line(end))
        self.close()

    def close(self) -> None:
        """Close the files; what was written stays."""
        self._drop_tail(delete=False)
        try:
            self._shard.close()
        except OSError as error:
            self._failed(error)

    def forget(self) -> None:
        """In a forked child: these descriptors are the parent's; the child must not write."""
        for file in (self._shard, self._tail):
            if file is not None:
                file.close()
        self._tail = None

    def _fold(self) -> None:
        whole, self._pending = self._pending, None
        if whole is None:
            return
        whole.samples = thinned_samples(whole.samples, MOST_SAMPLES, whole.first)
        self._append(self._line(whole))
        self._drop_tail(delete=not self._waiting)
        self._add_to_summary(whole)
        self._merged_at_length += 1
        if self._merged_at_length >= WINDOWS_PER_LENGTH and self._length < LONGEST:
            self._merged_at_length = 0
            self._length *= 2

    def _line(self, window: Window) -> str:
        """Merged windows are packed; the first minute stays readable text."""
        return (lines.window_line if self._length == 1 else lines.packed_line)(window)

    def _add_to_summary(self, window: Window) -> None:
        if self._summary is not None and not same_part(self._summary, window):
            self._summarize()
        self._summary = self._summary or nothing_before(window)
        self._summary.add(window)
        self._summarized += 1
        if self._summarized == WINDOWS_PER_SUMMARY:
            self._summarize()

    def _summarize(self) -> None:
        summary, self._summary, self._summarized = self._summary, None, 0
        if summary is not None:
            summary.samples = thinned_samples(summary.samples, MOST_SAMPLES, summary.first)
            self._append(lines.summary_line(summary))

    def _append(self, line: str) -> None:
        self._waiting.append(line)
        while self._waiting and self._write(self._shard, self._waiting[0]):
            self._waiting.pop(0)

    def _write_tail(self, line: str) -> None:
        if self._tail is None:
            self._tail_number += 1
            try:
                self._tail = OwnFile(self._tail_path(), new=False)
            except FileNotFoundError:
                return  # the program has deleted the folder; `close` makes it again
            except OSError as error:
                self._failed(error)
                return
        # A window that does not reach the tail is still pending, and reaches the shard later.
        self._write(self._tail, line)

    def _tail_path(self) -> Path:
        return self._folder / f"{self._name}.tail-{self._tail_number}.jsonl"

    def _drop_tail(self, delete: bool) -> None:
        if self._tail is None:
            return
        try:
            self._tail.close()
        except OSError as error:
            self._failed(error)
        self._torn.discard(self._tail)
        self._tail = None
        if delete:
            try:
                unlink(self._tail_path())
            except FileNotFoundError:
                pass
            except OSError as error:
                self._failed(error)

    def _write(self, file: OwnFile, line: str) -> bool:
        """Write one line; a reader sees all of it or nothing."""
        data = line.encode() + b"\n"
        if file in self._torn:
            data = b"\n" + data
        try:
            written = file.write(data)
            while written < len(data):
                self._torn.add(file)
                written += file.write(data[written:])
        except OSError as error:
            self._failed(error)
            return False
        self._torn.discard(file)
        self._failing = False
        return True

    def _failed(self, error: OSError) -> None:
        if not self._failing:
            self._failing = True
            self._warn(
                f"the capture cannot be written ({error.strerror}); training continues, "
                f"what was written so far is readable: {self._folder}"
            )
