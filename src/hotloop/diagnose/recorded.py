"""Reads notes for rules; empty if a note is missing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Set
from dataclasses import dataclass

from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.analyze.over_time.gauges import values_of
from hotloop.capture import schema
from hotloop.capture.schema import LineCalls, Network, SourceLine
from hotloop.diagnose.evidence import Match, Use, in_package, use_by, use_of

#: Phases in which networks work.
LEARNING = (
    "learn",
    "learn.forward",
    "learn.loss",
    "learn.backward",
    "learn.optimizer",
    "learn.target",
    "learn.step",
    "learn.fit",
)
NETWORKS = ("policy.act", *LEARNING)


def counted(analysis: Analysis, name: str) -> float:
    """The value of a counter inside the training loop."""
    return sum(window.counters.get(name, 0.0) for window in analysis.loop_windows)


def gauge_rise(analysis: Analysis, name: str) -> float | None:
    """By how much a gauge that only rises has risen in the loop; None if it was not recorded.

    The first value does not include the first window's own part, which is assumed to be the mean.
    """
    values = values_of(analysis.loop_windows, name)
    if not values:
        return None
    return (values[-1] - values[0]) * len(values) / max(len(values) - 1, 1)


def lines_of(analysis: Analysis, what: str) -> list[SourceLine]:
    """The program's lines recorded for this kind of call."""
    return list(analysis.notes.places.get(what, ()))


def at(lines: list[SourceLine]) -> str:
    """ " (train.py:12)" of the first place, or nothing."""
    if not lines:
        return ""
    name = lines[0].file.replace("\\", "/").rpartition("/")[2]
    return f" ({name}:{lines[0].line})"


#: For a line without any information.
NO_CALLS = LineCalls()


def called_at(analysis: Analysis, at: Frame | SourceLine | None) -> LineCalls:
    """The calls of a line of the program, and the loop around it; empty if unknown."""
    known = analysis.notes.lines.get(at.file, {}).get(str(at.line)) if at else None
    return known or NO_CALLS


@dataclass(frozen=True)
class CodeLoop:
    """A loop in the program's source."""

    first: int
    last: int
    #: Whether it selects items by index: `rows[i]` in `for i in …`.
    picks: bool

    def has(self, line: int) -> bool:
        return self.first <= line <= self.last


def loop_around(analysis: Analysis, line: Frame | SourceLine) -> CodeLoop | None:
    """The innermost loop around a line of the program, if the capture has the loop's end."""
    first = called_at(analysis, line).loop_line
    known = analysis.notes.loops.get(line.file, {}).get(str(first))
    return CodeLoop(first, known[0], bool(known[1])) if known else None


def loop_key(analysis: Analysis, at: Frame | SourceLine | None) -> tuple[str, int] | None:
    """(file, first line) of the innermost loop around a line of the program."""
    line = called_at(analysis, at).loop_line
    return (at.file, line) if at and line else None


def use_at_lines(analysis: Analysis, samples: Iterable[Sample], names: frozenset[str]) -> Use:
    """The use of samples that end in a program's line that calls one of these.

    A call into C has no Python frame, or only those of a thin wrapper (`np.random.choice`,
    `Path.write_text`). The name `pickle.dump` matches that function of `pickle`, `dump` a method of
    any object, and `pygame.draw.` everything in that module.
    """
    answers: dict[SourceLine, bool] = {}

    def calling(sample: Sample) -> SourceLine | None:
        inside = itertools.takewhile(lambda frame: not frame.of_program, sample.frames)
        line = sample.line if all(map(_helps, inside)) else None
        if line is None:
            return None
        if line not in answers:
            called = called_at(analysis, line).names
            answers[line] = any(is_named(name, names) for name in called)
        return line if answers[line] else None

    return use_by(samples, calling)


def use_with_lines(
    analysis: Analysis, samples: Iterable[Sample], match: Match, names: frozenset[str]
) -> Use:
    """Time in matching frames, and at lines that call one of these in C, which has no frame."""
    samples = list(samples)
    rest = [s for s in samples if not any(match(frame) for frame in s.frames)]
    return use_of(samples, match) + use_at_lines(analysis, rest, names)


def is_named(called: str, names: Set[str]) -> bool:
    parts = called.split(".")
    # `self.np.save` ends in `np.save`; `pygame.draw.circle` begins with `pygame.draw.`.
    ends = {".".join(parts[i:]) for i in range(len(parts))}
    begins = {".".join(parts[:i]) + "." for i in range(1, len(parts))}
    return bool(names & (ends | begins))


def at_lines_that_call(
    analysis: Analysis, samples: Iterable[Sample], names: frozenset[str]
) -> tuple[float, list[SourceLine]]:
    """(seconds, places) of `use_at_lines`."""
    use = use_at_lines(analysis, samples, names)
    return use.seconds, use.where()


def copies_by_dumping(analysis: Analysis, sample: Sample) -> bool:
    """Whether the program's line makes a copy: `pickle.loads(pickle.dumps(x))`, or with `json`."""
    # A simulator behind a network connection packs and unpacks as well.
    inside = itertools.takewhile(lambda frame: not frame.of_program, sample.frames)
    if sample.waiting or not all(_PACKS(frame) for frame in inside):
        return False
    return {"dumps", "loads"} <= called_at(analysis, sample.line).short


#: Python's and NumPy's own Python code around a call of C: its caller is the program's line.
_NUMPY = in_package("numpy")
_HELPERS = in_package("random", "json", "pathlib", "codecs", "io", "gzip", "csv", "pickle",
                      "encodings", "_compression", "zipfile", "bz2", "lzma")  # fmt: skip
_FROZEN = frozenset({"<frozen codecs>", "<frozen io>", "<frozen abc>", "<frozen posixpath>"})


def _helps(frame: Frame) -> bool:
    if "-packages" in frame.file:  # a library may have an `io` of its own
        return _NUMPY(frame)
    return _HELPERS(frame) or frame.file in _FROZEN


_PACKS = in_package("json", "pickle", "copyreg", "copy", "dill", "cloudpickle")
_PANDAS = in_package("pandas", "polars")
_TABLE_WRITERS = frozenset(["to_csv", "to_json", "to_sql", "to_parquet", "to_excel", "to_feather",
                            "to_pickle", "to_hdf", "write_csv", "write_parquet"])  # fmt: skip


def writes_table(frame: Frame) -> bool:
    """Whether this is a table of values that is written to a file: that is logging."""
    return frame.short in _TABLE_WRITERS and _PANDAS(frame)


def networks(analysis: Analysis) -> list[Network]:
    """The program's networks, one per optimizer."""
    return analysis.notes.networks + analysis.notes.keras_networks


def parameters(analysis: Analysis) -> float | None:
    """Parameters of the largest network; None if none was seen."""
    return max((each.parameters for each in networks(analysis) if each.parameters), default=None)


def torch_threads(analysis: Analysis, process: str = "main") -> int | None:
    """Threads that torch uses for one operation in a process: most of the time, in the loop."""
    seen: dict[int, float] = {}
    for window in analysis.loop_windows if process == "main" else ():
        threads = int(window.gauges.get(schema.TORCH_THREADS, 0))
        seen[threads] = seen.get(threads, 0.0) + window.seconds
    seen.pop(0, None)
    if seen:
        return max(seen, key=lambda threads: seen[threads])
    # A note has the state at the very end.
    value = analysis.notes_of(process).threads.torch
    return int(value) if value and value >= 1 else None
