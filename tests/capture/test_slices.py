"""Single calls from their writer to their reader."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from hotloop.analyze.processes.training import read_capture
from hotloop.capture.slices import Slice, SliceWriter, read_slices

PATHS = ["", "collect", "collect/env.step"]


def pack(*slices: tuple[int, int, int]) -> bytes:
    return b"".join(struct.pack("=QQII", begin, end, node, 0) for begin, end, node in slices)


def writer(folder: Path, name: str = "main") -> SliceWriter:
    return SliceWriter(folder, name, {"role": name, "origin_ns": 5, "byteorder": sys.byteorder})


def test_calls_that_windows_cut_are_one_again(tmp_path: Path) -> None:
    file = writer(tmp_path)
    file.block(pack((10, 20, 2), (5, 100, 1)), 0, 100, PATHS)
    file.block(pack((100, 200, 1)), 0, 200, PATHS)
    file.block(pack((210, 220, 2), (200, 250, 1), (260, 300, 2)), 3, 300, PATHS)
    file.close()
    (process,) = read_slices(tmp_path)
    assert process.slices == [
        Slice("collect/env.step", 10, 20),
        Slice("collect", 5, 250),
        Slice("collect/env.step", 210, 220),
        Slice("collect/env.step", 260, 300),
    ]
    assert (process.lost, process.damaged, process.header and process.header.origin_ns) == (3, 0, 5)


def test_calls_that_only_touch_stay_two(tmp_path: Path) -> None:
    file = writer(tmp_path)
    file.block(pack((10, 20, 2), (20, 30, 2)), 0, 100, PATHS)
    file.close()
    assert len(read_slices(tmp_path)[0].slices) == 2


def test_damage_is_skipped_and_counted(tmp_path: Path) -> None:
    file = writer(tmp_path)
    file.block(pack((10, 20, 2)), 0, 100, PATHS)
    file.block(pack((110, 120, 9)), 0, 200, PATHS)  # a node without a name
    file.close()
    path = tmp_path / "main.trace"
    bad = (
        '{"t":1,"p":{},"lost":0,"d":"no"}\n{"t":1}\nnonsense\n{"t":1,"p":{},"lost":0,"d":"eJw="}\n'
    )
    path.write_text(path.read_text() + bad)
    (process,) = read_slices(tmp_path)
    assert process.slices == [Slice("collect/env.step", 10, 20)]
    assert process.damaged == 5


def test_the_main_process_is_first_and_traces_are_no_shards(tmp_path: Path) -> None:
    from hotloop.capture.writer import ShardWriter

    for name in ("a-worker", "main"):
        file = writer(tmp_path, name)
        file.block(pack((1, 2, 1)), 0, 2, PATHS)
        file.close()
    assert [process.name for process in read_slices(tmp_path)] == ["main", "a-worker"]
    ShardWriter(tmp_path, "main", {"role": "main"}).close()
    assert [shard.name for shard in read_capture(tmp_path).shards] == ["main"]
    assert read_slices(tmp_path / "nothing") == []
