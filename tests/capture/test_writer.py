"""A shard as it is written: bounded, never overwritten, whatever happens to the disk."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import weakref
from itertools import pairwise
from pathlib import Path

import pytest
from written_shards import window, write

from hotloop.analyze.processes.training import read_capture
from hotloop.capture import lines
from hotloop.capture.schema import End
from hotloop.capture.window import merged
from hotloop.capture.writer import ShardWriter


def test_what_is_written_is_read(tmp_path: Path) -> None:
    writer = write(tmp_path, 3)
    writer.stacks([lines.StackRow(1, 0, "train.py", "main", 3, 7)])
    writer.notes({"device": "cpu", "libraries": {"a": {"version": "1"}}})
    writer.notes({"libraries": {"b": {"version": "2"}}})
    writer.end({"code": 0})
    capture = read_capture(tmp_path)
    assert capture.main.windows == [window(0), window(1), window(2)]
    assert capture.main.notes.device == "cpu"
    versions = {title: use.version for title, use in capture.main.notes.libraries.items()}
    assert versions == {"a": "1", "b": "2"}
    assert capture.main.stacks[1].function == "main"
    assert capture.main.end == End({"code": 0})
    assert (capture.damaged, capture.damaged_values) == (0, 0)


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


def test_a_shard_is_never_overwritten(tmp_path: Path) -> None:
    write(tmp_path, 1).close()
    with pytest.raises(FileExistsError):
        ShardWriter(tmp_path, "main", {})


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit on file sizes here")
def test_a_full_disk_warns_once_and_keeps_what_was_written(tmp_path: Path) -> None:
    """A real limit of the system stands in for the disk's end."""
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from hotloop.capture.writer import ShardWriter
from written_shards import window
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


def test_a_closed_writer_lets_go_of_its_files(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc to count descriptors in")
    before = len(os.listdir("/proc/self/fd"))
    write(tmp_path, 300).end({})
    assert len(os.listdir("/proc/self/fd")) == before
    assert [p.name for p in tmp_path.iterdir()] == ["main.jsonl"]
