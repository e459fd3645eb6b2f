"""A shard from its writer to its reader: bounded, and readable whatever happened to it."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import weakref
from itertools import pairwise
from pathlib import Path

import pytest

from hotloop.capture import lines
from hotloop.capture.reader import read_capture
from hotloop.capture.window import PhaseDelta, Window, merged
from hotloop.capture.writer import ShardWriter
from hotloop.errors import HotloopError


def window(number: int, phases: int = 3) -> Window:
    begin = number * 1_000_000_000
    return Window(
        number,
        number,
        begin,
        begin + 1_000_000_000,
        {
            f"collect/phase {i}": PhaseDelta(
                10, 5000, 6000, 100, 900, 1, begin, begin + 5, {70: 10}
            )
            for i in range(phases)
        },
        {"env_steps": 4},
        {("collect", 1, 0): [3, 30_000_000]},
        {"resident": 5e8, "resident_peak": 6e8, "sampler_ns": 100},
        begin,
    )


def write(folder: Path, count: int, **options: int) -> ShardWriter:
    writer = ShardWriter(folder, "main", {"role": "main", "cost": None})
    for number in range(count):
        writer.window(window(number, **options))
    return writer


def test_what_is_written_is_read(tmp_path: Path) -> None:
    writer = write(tmp_path, 3)
    writer.stacks([lines.StackRow(1, 0, "train.py", "main", 3, 7)])
    writer.notes({"device": "cpu", "libraries": {"a": 1}})
    writer.notes({"libraries": {"b": 2}})
    writer.end({"code": 0})
    capture = read_capture(tmp_path)
    assert capture.main.windows == [window(0), window(1), window(2)]
    assert capture.main.notes == {"device": "cpu", "libraries": {"a": 1, "b": 2}}
    assert capture.main.stacks[1].function == "main"
    assert capture.main.end == {"code": 0}
    assert capture.damaged == 0


@pytest.mark.parametrize("count", [1, 127, 128, 129, 500, 2000])
def test_a_long_run_keeps_its_sums_and_its_last_seconds(tmp_path: Path, count: int) -> None:
    write(tmp_path, count).close()  # not ended: as if it had been killed
    windows = read_capture(tmp_path).main.windows
    total = merged(windows)
    assert total is not None
    assert total.counters == {"env_steps": 4 * count}
    assert total.phases["collect/phase 0"].calls == 10 * count
    assert (total.begin_ns, total.end_ns) == (0, count * 1_000_000_000)
    assert all(a.last + 1 == b.first for a, b in pairwise(windows))


def test_windows_grow_longer_as_a_run_goes_on(tmp_path: Path) -> None:
    write(tmp_path, 3000).end({})
    windows = read_capture(tmp_path).main.windows
    assert len(windows) < 128 * 6
    assert windows[0].seconds == 1
    assert max(w.seconds for w in windows) >= 8


def test_a_long_tail_does_not_fill_the_memory(tmp_path: Path) -> None:
    writer = write(tmp_path, 1000)  # by now, a tail holds several windows
    fresh = window(1000)
    kept = weakref.ref(fresh)
    writer.window(fresh)
    assert list(tmp_path.glob("main.tail-*.jsonl"))
    del fresh
    gc.collect()
    assert kept() is None
    writer.end({})


def test_a_tail_that_was_already_merged_is_counted_once(tmp_path: Path) -> None:
    write(tmp_path, 200).close()
    tails = list(tmp_path.glob("main.tail-*.jsonl"))
    assert len(tails) <= 1
    # The moment between appending the merged window and removing the tail.
    stale = tmp_path / "main.tail-0.jsonl"
    stale.write_text("".join(lines.window_line(window(n)) + "\n" for n in (198, 199)))
    total = merged(read_capture(tmp_path).main.windows)
    assert total is not None
    assert total.counters == {"env_steps": 800}


def test_a_shard_is_never_overwritten(tmp_path: Path) -> None:
    write(tmp_path, 1).close()
    with pytest.raises(FileExistsError):
        ShardWriter(tmp_path, "main", {})


def test_damaged_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    write(tmp_path, 4).end({})
    shard = tmp_path / "main.jsonl"
    text = shard.read_text().splitlines()
    text[2] = text[2][:40]
    text.insert(3, '{"w":[1,1],"t":[5,1]}')
    text.insert(4, "\x00\x01")
    shard.write_text("\n".join(text) + '\n{"w":[9,')
    capture = read_capture(tmp_path)
    assert capture.damaged == 4
    assert [w.first for w in capture.main.windows] == [0, 2, 3]


def test_what_is_no_capture_says_so(tmp_path: Path) -> None:
    with pytest.raises(HotloopError, match="no such capture"):
        read_capture(tmp_path / "nothing")
    with pytest.raises(HotloopError, match="not a capture"):
        read_capture(tmp_path)
    file = tmp_path / "train.py"
    file.write_text("print()")
    with pytest.raises(HotloopError, match="not a capture"):
        read_capture(file)


def test_a_newer_version_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "main.jsonl").write_text('{"hotloop":"capture/99"}\n')
    with pytest.raises(HotloopError, match="pip install -U hotloop"):
        read_capture(tmp_path)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit on file sizes here")
def test_a_full_disk_warns_once_and_keeps_what_was_written(tmp_path: Path) -> None:
    """A real limit of the system stands in for the disk's end."""
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_shards import ShardWriter, window
from pathlib import Path
writer = ShardWriter(Path({str(tmp_path)!r}), "main", {{"role": "main"}})
writer.window(window(0))
soft = Path({str(tmp_path)!r}, "main.jsonl").stat().st_size + 700
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))
for number in range(1, 10):
    writer.window(window(number))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.window(window(10))
writer.end({{}})
print("training went on")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "training went on\n", done.stderr
    assert done.stderr.count("cannot be written") == 1
    total = merged(read_capture(tmp_path).main.windows)
    assert total is not None
    # What could not be written waited, and went out when there was room again.
    assert total.counters == {"env_steps": 44}


def test_lines_hold_no_control_characters(tmp_path: Path) -> None:
    hostile = "a\x1b[2J\n\u202e</script>"
    writer = ShardWriter(tmp_path, "main", {"command": [hostile]})
    bad = window(0)
    bad.phases[hostile] = PhaseDelta(calls=1)
    writer.window(bad)
    writer.end({})
    raw = (tmp_path / "main.jsonl").read_bytes()
    assert b"\x1b" not in raw
    assert raw.count(b"\n") == 3
    assert hostile in read_capture(tmp_path).main.windows[0].phases


def test_numbers_out_of_range_are_damage() -> None:
    good = json.loads(lines.window_line(window(0)))
    for change in ({"c": {"n": float("inf")}}, {"w": [-1, 0]}, {"p": {"a": [1]}}, {"l": 2**70}):
        with pytest.raises(lines.DamagedError):
            lines.read_window({**good, **change})


def test_a_closed_writer_lets_go_of_its_files(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc to count descriptors in")
    before = len(os.listdir("/proc/self/fd"))
    write(tmp_path, 300).end({})
    assert len(os.listdir("/proc/self/fd")) == before
    assert [p.name for p in tmp_path.iterdir()] == ["main.jsonl"]
