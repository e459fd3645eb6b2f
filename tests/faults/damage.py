"""Damages captures at random and puts what is left through every reader and renderer.

    python damage.py FOLDER SEED FIRST COUNT

Each round takes one of `tests/data/captures` (short parts of real runs: workers, a loop without a
library, exact functions and memory, and one with a GPU's columns), damages it and reads it. Nothing
but a report or a `HotloopError` may come out, in ten seconds of CPU time and in one gigabyte
more than the libraries take. A round depends on the seed and its own number only, so that a failure can be had
again: `damage.py FOLDER SEED NUMBER 1`; what it read is left in FOLDER.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

from hotloop.analyze.analysis import analyze
from hotloop.analyze.comparing.unpaired import compare_captures
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.over_time.live_state import live_state_of
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.reader import CaptureReader
from hotloop.diagnose import diagnose
from hotloop.errors import HotloopError
from hotloop.report.console.live_view import dashboard, status_line
from hotloop.report.console.terminal import Style
from hotloop.report.document import make_report
from hotloop.report.formats import FORMATS
from hotloop.report.html.page_data import page_data
from hotloop.report.output import render
from hotloop.report.results.comparison import comparison_document, comparison_text
from hotloop.report.results.comparison_page import render_comparison

DATA = Path(__file__).parents[1] / "data" / "captures"
#: Processor time: the machine may have other things to do.
LONGEST_S = 10
MOST_BYTES = 1_000_000_000

#: Format -> one in how many rounds it is rendered. Pictures take most of a second each.
EVERY = {
    "text": 1, "json": 1, "markdown": 5, "detailed": 5, "html": 10, "perfetto": 5, "speedscope": 5,
    "collapsed": 5, "pstats": 5, "csv": 5, "parquet": 50, "svg": 4000, "png": 4000,
}  # fmt: skip
assert set(EVERY) == set(FORMATS), "a renderer without damaged captures"
LIVE_EVERY = COMPARE_EVERY = 20

Files = dict[str, bytes]

DEEP: Any = []
for _ in range(300):
    DEEP = [DEEP]

#: What a value is changed to.
STRANGE: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, -(10**30), 10**400, 0.0, 1e-320, 1e300,
    1e308, -1e308, float("nan"), float("inf"), "", "x", "x" * 5000, "\x00\x1b[2J\u202e", "\ud800", "../../etc",
    "1", "nan", "a/b/c", "@thread-3", "/" * 50, [], {}, [[]], [1, 2], [None], {"a": 1}, {"": {}},
    {"env.step": None}, ["x"] * 300, {str(n): n for n in range(300)}, DEEP, "capture/1", "capture/99",
]  # fmt: skip


def with_device(files: Files) -> Files:
    """The same run as if it had used a GPU."""
    lines = []
    row = DeviceDelta(
        15_000_000, 10_000, 30, 2_000_000, 30, 3_000_000, 2, 100_000, 50_000, 9000, 3, 4096, 5000, 2,
        64, 4000, 1, 32, 300, 9_000_000, 500_000, 500_000,
    ).row()  # fmt: skip
    for line in files["main.jsonl"].splitlines():
        document = json.loads(line)
        if "w" in document:
            paths = list(document["p"])
            document["d"] = dict.fromkeys(paths[:4], row)
            document["dp"] = {path: [0, 0, *row[2:]] for path in paths[2:6]}
            document["g"] |= {"gpu_busy": 0.4, "gpu_memory_mb": 900.0, "gpu_power_w": 200.0}
        if "n" in document:
            about = {"name": "CUDA", "card": "A card", "mode": "windows", "remarks": ["a remark"]}
            document["n"] |= {
                "gpu": about,
                "device": "cuda",
                "gpu_sampled_peaks": {"learn": [9, 9]},
            }
            document["n"] |= {"transfer_lines": {}, "remarks": ["x"], "env_growth": {"Env": [1, 2]}}
        lines.append(json.dumps(document).encode())
    return {**files, "main.jsonl": b"\n".join(lines) + b"\n"}


def captures() -> list[Files]:
    found = [
        {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        for folder in sorted(DATA.iterdir())
    ]
    assert len(found) >= 3
    return [
        *found,
        with_device(next(files for files in found if b"gradient_steps" in files["main.jsonl"])),
    ]


# -- kinds of damage: each takes the files of a capture and changes them --


def a_file(files: Files, chance: random.Random) -> str:
    return chance.choice(sorted(files))


def change_bytes(files: Files, chance: random.Random) -> None:
    name = a_file(files, chance)
    data = bytearray(files[name])
    for _ in range(chance.choice([1, 1, 3, 30])):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    files[name] = bytes(data)


def cut_out(files: Files, chance: random.Random) -> None:
    name = a_file(files, chance)
    data = files[name]
    at = chance.randrange(len(data) + 1)
    junk = chance.randbytes(chance.choice([0, 1, 10]))
    files[name] = data[:at] + junk + data[at + chance.choice([0, 1, 5, 100, 2000]) :]


def truncate(files: Files, chance: random.Random) -> None:
    name = a_file(files, chance)
    files[name] = files[name][: chance.randrange(len(files[name]) + 1)]


def digits(files: Files, chance: random.Random) -> None:
    """Change digits only, so that lines stay well-formed."""
    name = a_file(files, chance)
    data = bytearray(files[name])
    places = [at for at, letter in enumerate(data) if 48 <= letter < 58]
    for at in chance.sample(places, min(len(places), chance.choice([1, 5, 50]))):
        data[at] = chance.choice(b"0123456789")
    files[name] = bytes(data)


def reorder(files: Files, chance: random.Random) -> None:
    name = a_file(files, chance)
    lines = files[name].splitlines(keepends=True)
    how = chance.randrange(4)
    if how == 0:
        chance.shuffle(lines)
    elif how == 1 and lines:
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    elif how == 2 and lines:
        del lines[chance.randrange(len(lines))]
    else:
        lines += files[a_file(files, chance)].splitlines(keepends=True)
    files[name] = b"".join(lines)


def rename(files: Files, chance: random.Random) -> None:
    name = a_file(files, chance)
    data = files.pop(name)
    to = [
        "main.jsonl",
        "main.tail-1.jsonl",
        "main.trace",
        "x.jsonl",
        "\u202e.jsonl",
        "a b.tail-7.jsonl",
    ]
    if chance.random() < 0.8:
        files[chance.choice(to)] = data


def a_place(document: Any, chance: random.Random) -> tuple[Any, Any]:
    """A container somewhere inside, and a key of it."""
    while True:
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        key = chance.choice(keys)
        inner = document[key]
        if not isinstance(inner, (dict, list)) or not inner or chance.random() < 0.15:
            return document, key
        document = inner


def change_values(files: Files, chance: random.Random) -> None:
    """Lines that are well-formed JSON and mean something else."""
    name = a_file(files, chance)
    lines = files[name].splitlines()
    for _ in range(chance.choice([1, 1, 2, 8])):
        if not lines:
            return
        at = chance.randrange(len(lines))
        try:
            document = json.loads(lines[at])
            container, key = a_place(document, chance)
        except (ValueError, IndexError, TypeError, RecursionError):
            continue
        if chance.random() < 0.15:
            del container[key]
        elif isinstance(container, dict) and chance.random() < 0.2:
            container[str(chance.choice(STRANGE))[:200]] = container.pop(key)
        else:
            container[key] = deepcopy(chance.choice(STRANGE))
        lines[at] = json.dumps(document).encode()
    files[name] = b"\n".join(lines) + b"\n"


def change_notes(files: Files, chance: random.Random) -> None:
    """The same in the header and in notes, where everything may stand."""
    name = chance.choice(
        [name for name in files if name.endswith(".jsonl")] or [a_file(files, chance)]
    )
    lines = files[name].splitlines()
    loose = [
        at for at, line in enumerate(lines) if line.startswith((b'{"n"', b'{"hotloop"', b'{"e"'))
    ]
    for at in chance.sample(loose, min(len(loose), 2)):
        try:
            document = json.loads(lines[at])
            for _ in range(chance.choice([1, 3])):
                inner = document.get("n") or document.get("e") or document
                container, key = a_place(inner, chance)
                container[key] = deepcopy(chance.choice(STRANGE))
        except (ValueError, IndexError, TypeError, AttributeError, RecursionError):
            continue
        lines[at] = json.dumps(document).encode()
    files[name] = b"\n".join(lines) + b"\n"


KINDS: list[Callable[[Files, random.Random], None]] = [
    change_bytes, cut_out, truncate, digits, reorder, rename, change_values, change_values, change_notes,
    change_notes,
]  # fmt: skip


# -- every reader and renderer --


def put_through(folder: Path, number: int, whole: Any, seen: Counter[str]) -> None:
    capture = read_capture(folder)
    analysis = analyze(capture)
    findings = diagnose(analysis)
    assert not analysis.failed_rules, analysis.failed_rules
    for name, every in EVERY.items():
        if number % every == 0:
            try:
                content = render(name, make_report(analysis, findings, RunHistory(capture)))
                if isinstance(content, str):
                    content.encode(errors="replace")  # as it is saved
            except HotloopError:
                seen["clear errors of a format"] += 1  # no trace was kept, nothing was sampled, ...
            seen[name] += 1
    if number % LIVE_EVERY == 0:
        watching = CaptureReader(folder, most_of_main=2)
        watching.read()
        now = live_state_of(capture, analysis)
        dashboard(now, analysis, findings, Style(80, color=True), 20)
        status_line(now, analysis)
        page_data(make_report(analysis, findings, RunHistory(watching.read())))
        seen["live"] += 1
    if number % COMPARE_EVERY == 0:
        for sides in ((analysis, whole), (whole, analysis)):
            comparison = compare_captures(*sides, ("a", "b"))
            comparison_text(comparison, Style())
            json.dumps(comparison_document(comparison))
            render_comparison(comparison)
        seen["compare"] += 1


def one_round(
    folder: Path, seed: int, number: int, all_captures: list[Files], whole: Any, seen: Counter[str]
) -> None:
    chance = random.Random(f"{seed}:{number}")
    files = dict(chance.choice(all_captures))
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        if files:
            kind = chance.choice(KINDS)
            kind(files, chance)
            seen[f"kind: {kind.__name__}"] += 1
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    try:
        put_through(folder, number, whole, seen)
        seen["reports"] += 1
    except HotloopError as error:
        seen["clear errors"] += 1
        if not 1 <= len(str(error).splitlines()) <= 2:
            raise AssertionError("an error is a line or two") from error


class TooLongError(Exception):
    """A round that does not end."""


def ring(*_: Any) -> None:
    raise TooLongError


def limit_memory() -> None:
    """A gigabyte more than what the libraries have taken."""
    for name in EVERY:  # import what the renderers need before the limit
        analysis = analyze(read_capture(DATA / "plain"))
        render(name, make_report(analysis, [], RunHistory(read_capture(DATA / "plain"))))
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, resource.RLIM_INFINITY))


def main(base: str, seed: int, first: int, count: int) -> int:
    folder = Path(base) / "damaged"
    all_captures = captures()
    whole = analyze(read_capture(DATA / "workers"))
    limit_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.signal(signal.SIGPROF, ring)
    seen: Counter[str] = Counter()
    failures = []
    begin = time.monotonic()
    for number in range(first, first + count):
        signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
        try:
            one_round(folder, seed, number, all_captures, whole, seen)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            signal.setitimer(signal.ITIMER_PROF, 0)
            last = traceback.extract_tb(error.__traceback__)[-1]
            failures.append([number, f"{error!r:.200}", f"{last.filename}:{last.lineno}"])
            if count == 1:
                traceback.print_exc()
            if len(failures) >= 100:
                break
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    took = time.monotonic() - begin
    print(json.dumps({"seen": seen, "failures": failures, "grown": grown, "took_s": took}))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
