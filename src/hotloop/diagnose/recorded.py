"""What rules ask of the facts that `hooks.facts` records; silent where one is missing."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.diagnose.evidence import (
    Match,
    Use,
    in_package,
    note,
    number,
    program_place,
    use_of,
)
from hotloop.diagnose.finding import Place

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
    """What a counter counted inside the training loop."""
    return sum(window.counters.get(name, 0.0) for window in analysis.loop_windows)


def gauge_range(analysis: Analysis, name: str) -> tuple[float, float] | None:
    """(first, last) value of a gauge in the loop."""
    values = [w.gauges[name] for w in analysis.loop_windows if name in w.gauges]
    return (values[0], values[-1]) if values else None


def gauge_rise(analysis: Analysis, name: str) -> float | None:
    """By how much a gauge that only rises has risen in the loop; None if it was not recorded.

    The first window's own part is not in its first value, so it is taken to be the mean's.
    """
    known = gauge_range(analysis, name)
    if known is None:
        return None
    windows = [w for w in analysis.loop_windows if name in w.gauges]
    return (known[1] - known[0]) * len(windows) / max(len(windows) - 1, 1)


def places_of(analysis: Analysis, what: str) -> list[Place]:
    """The program's lines that were noted for this kind of call."""
    rows = note(analysis, "places", what)
    found = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, list) and len(row) == 3 and isinstance(row[1], int):
            found.append(Place(str(row[0]), row[1], str(row[2])))
    return found


def at(places: list[Place]) -> str:
    """ " (train.py:12)" of the first place, or nothing."""
    if not places:
        return ""
    name = places[0].file.replace("\\", "/").rpartition("/")[2]
    return f" ({name}:{places[0].line})"


#: Of what a line calls; a capture may say anything.
LONGEST_NAME = 200


def called_at(analysis: Analysis, frame: Frame | Place) -> tuple[frozenset[str], int]:
    """(names that a line of the program calls, first line of the loop around it or 0)."""
    entry = note(analysis, "lines", frame.file, str(frame.line))
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], list):
        return frozenset(), 0
    names = frozenset(n for n in entry[0] if isinstance(n, str) and len(n) <= LONGEST_NAME)
    return names, entry[1] if isinstance(entry[1], int) else 0


def use_at_lines(analysis: Analysis, samples: Iterable[Sample], names: frozenset[str]) -> Use:
    """The use of samples that end in a program's line that calls one of these.

    What such a line calls in C has no frame of its own, or those of the little Python around it
    (`np.random.choice`, `Path.write_text`). `pickle.dump` is that of `pickle`, `dump` of any
    object, `pygame.draw.` whatever is in there.
    """
    use = Use()
    answers: dict[Place, bool] = {}
    for sample in samples:
        inside = itertools.takewhile(lambda frame: not frame.of_program, sample.frames)
        place = program_place(sample.frames) if all(map(_helps, inside)) else None
        if place is None:
            continue
        if place not in answers:
            called, _ = called_at(analysis, place)
            answers[place] = any(_is_named(name, names) for name in called)
        if answers[place]:
            use.seconds += sample.seconds
            use.places[place] = use.places.get(place, 0.0) + sample.seconds
    return use


def use_with_lines(
    analysis: Analysis, samples: Iterable[Sample], match: Match, names: frozenset[str]
) -> Use:
    """Time in frames that match, and at lines that call one of these where C has no frame."""
    samples = list(samples)
    use = use_of(samples, match)
    rest = [s for s in samples if not any(match(frame) for frame in s.frames)]
    lines = use_at_lines(analysis, rest, names)
    use.seconds += lines.seconds
    for place, seconds in lines.places.items():
        use.places[place] = use.places.get(place, 0.0) + seconds
    return use


def _is_named(called: str, names: frozenset[str]) -> bool:
    parts = called.split(".")
    # `self.np.save` ends in `np.save`; `pygame.draw.circle` begins with `pygame.draw.`.
    ends = {".".join(parts[i:]) for i in range(len(parts))}
    begins = {".".join(parts[:i]) + "." for i in range(1, len(parts))}
    return bool(names & (ends | begins))


def at_lines_that_call(
    analysis: Analysis, samples: Iterable[Sample], names: frozenset[str]
) -> tuple[float, list[Place]]:
    """(seconds, places) of `use_at_lines`."""
    use = use_at_lines(analysis, samples, names)
    return use.seconds, use.where()


def copies_by_dumping(analysis: Analysis, sample: Sample) -> bool:
    """Whether the program's line makes a copy: `pickle.loads(pickle.dumps(x))`, or with `json`."""
    # A simulator that is asked over the network packs and unpacks as well.
    inside = itertools.takewhile(lambda frame: not frame.of_program, sample.frames)
    if sample.waiting or not all(_PACKS(frame) for frame in inside):
        return False
    place = program_place(sample.frames)
    called = called_at(analysis, place)[0] if place else ()
    return {"dumps", "loads"} <= {name.rpartition(".")[2] for name in called}


#: Python's and NumPy's own Python around a call of C: whoever calls it is the program's line.
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
    return frame.function.rpartition(".")[2] in _TABLE_WRITERS and _PANDAS(frame)


def networks(analysis: Analysis) -> list[dict[str, Any]]:
    """What is known of the program's networks, one entry an optimizer."""
    found: list[dict[str, Any]] = []
    for key in ("networks", "keras_networks"):
        rows = note(analysis, key)
        found += [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return found


def parameters(analysis: Analysis) -> float | None:
    """Parameters of the largest network; None where none was seen."""
    sizes = [number(row.get("parameters")) for row in networks(analysis)]
    return max((size for size in sizes if size), default=None)


def torch_threads(analysis: Analysis, process: str = "main") -> int | None:
    """Threads that torch uses for one operation in a process: most of the time, in the loop."""
    seen: dict[int, float] = {}
    for window in analysis.loop_windows if process == "main" else ():
        threads = int(window.gauges.get("torch_threads", 0))
        seen[threads] = seen.get(threads, 0.0) + window.seconds
    seen.pop(0, None)
    if seen:
        return max(seen, key=lambda threads: seen[threads])
    # What a note says is how it was at the very end.
    notes = analysis.notes if process == "main" else analysis.worker_notes.get(process, {})
    noted = notes.get("threads")
    value = number(noted.get("torch")) if isinstance(noted, dict) else None
    return int(value) if value and value >= 1 else None
