"""A shard as it is read, whatever happened to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_shards import window, write

from hotloop.analyze.processes.training import read_capture
from hotloop.capture import lines
from hotloop.capture.window import merged
from hotloop.errors import HotloopError


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
