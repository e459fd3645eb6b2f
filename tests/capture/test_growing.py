"""A capture that is read while it is written: only what is new, each moment once, few windows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotloop.analyze.processes.training import read_capture
from hotloop.capture import lines, reader
from hotloop.capture.growing import GrowingShard, Shard
from hotloop.capture.reader import CaptureReader
from hotloop.capture.records import Damage
from hotloop.capture.schema import End
from hotloop.capture.window import PhaseDelta, Window, merged
from hotloop.capture.writer import WINDOWS_PER_LENGTH, ShardWriter
from hotloop.errors import HotloopError

S = 1_000_000_000


def window(number: int, loop: bool = True) -> Window:
    begin = number * S
    return Window(
        number,
        number,
        begin,
        begin + S,
        {"env.step": PhaseDelta(10, 500, 600, 1 + number, 900, 1, begin, begin + 5, {70: 10})},
        {"env_steps": 4},
        {("env.step", 1, 0): [3, 30]},
        {"resident_peak": 6e8 + number},
        begin + 5 if loop else 0,
    )


def shard(windows: int, most: int | None, first_of_loop: int = 0) -> Shard:
    growing = GrowingShard("worker", most)
    growing.take(lines.header_line({"role": "worker"}).encode())
    for number in range(windows):
        growing.take(lines.window_line(window(number, number >= first_of_loop)).encode())
    found = growing.shard()
    assert found is not None
    return found


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "main", {"role": "main"})
    reader = CaptureReader(tmp_path)
    for number in range(400):
        writer.window(window(number))
        if number % 7 == 0:
            total = merged(reader.read().main.windows)
            assert total is not None
            assert (total.first, total.last) == (0, number)
            assert total.counters == {"env_steps": 4 * (number + 1)}
    writer.end({"code": 0})
    last = reader.read()
    assert last.main.end == End({"code": 0})
    whole = read_capture(tmp_path).main.windows
    assert merged(last.main.windows) == merged(whole)
    assert last.main.windows[-1] == whole[-1]


def test_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    line = lines.window_line(window(0)).encode()
    path.write_bytes(lines.header_line({"role": "main"}).encode() + b"\n" + line[:50])
    reader = CaptureReader(tmp_path)
    capture = reader.read()
    assert (capture.main.windows, capture.damaged) == ([], 0)
    with open(path, "ab") as file:
        file.write(line[50:] + b"\n")
    assert len(reader.read().main.windows) == 1
    # Its end will not be written anymore, so the line counts as it is.
    path.write_bytes(path.read_bytes() + line[:50])
    assert read_capture(tmp_path).damaged == 1


def test_a_tail_that_vanishes_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = ShardWriter(tmp_path, "main", {"role": "main"})
    for number in range(WINDOWS_PER_LENGTH + 1):
        writer.window(window(number))
    tail = next(tmp_path.glob("main.tail-*"))
    listed = CaptureReader._files

    def files(self: CaptureReader) -> list[tuple[Path, str, bool]]:
        found = listed(self)
        tail.unlink(missing_ok=True)  # between the listing and the reading
        return found

    monkeypatch.setattr(CaptureReader, "_files", files)
    assert len(CaptureReader(tmp_path).read().main.windows) == WINDOWS_PER_LENGTH


def test_a_capture_without_a_shard_is_none_yet(tmp_path: Path) -> None:
    reader = CaptureReader(tmp_path)
    with pytest.raises(HotloopError, match="not a capture"):
        reader.read()
    ShardWriter(tmp_path, "main", {"role": "main"}).window(window(0))
    assert len(reader.read().main.windows) == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 700), st.integers(1, 40), st.integers(0, 700))
def test_folding_keeps_every_sum(count: int, most: int, first_of_loop: int) -> None:
    folded = shard(count, most, first_of_loop).windows
    # Start-up and loop are never in one window, so there may be one more of each.
    assert len(folded) <= 2 * most + 2
    assert all(one.last + 1 == other.first for one, other in pairwise(folded))
    assert all((w.loop_last_ns > 0) == (w.first >= first_of_loop) for w in folded)
    total, exact = merged(folded), merged(shard(count, None, first_of_loop).windows)
    assert total == exact
    assert total is not None
    assert total.phases["env.step"].histogram == {70: 10 * count}


def test_other_processes_are_folded_and_the_main_one_is_not(tmp_path: Path) -> None:
    for name in ("main", "worker-1"):
        writer = ShardWriter(tmp_path, name, {"role": name})
        for number in range(1500):
            writer.window(window(number))
        writer.end({})
    capture = read_capture(tmp_path)
    main, worker = capture.shards
    assert len(main.windows) > 2 * WINDOWS_PER_LENGTH
    assert len(worker.windows) <= 130
    assert merged(main.windows) == merged(worker.windows)


def test_of_many_processes_fewer_windows_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_WINDOWS_OF_ALL_OTHERS", 12)
    for name in ("main", "worker-1", "worker-2"):
        writer = ShardWriter(tmp_path, name, {"role": name})
        for number in range(40):
            writer.window(window(number))
        writer.end({})
    main, *workers = read_capture(tmp_path).shards
    assert len(main.windows) == 40
    assert [len(worker.windows) <= 2 * 4 for worker in workers] == [True, True]
    assert [merged(worker.windows) for worker in workers] == [merged(main.windows)] * 2


def test_a_histogram_is_decoded_when_it_is_looked_at() -> None:
    found = shard(3, None).windows[0].phases["env.step"].histogram
    assert dict(found) == {70: 10}
    assert (len(found), found[70]) == (1, 10)
    for text in ("x", "1:2\u00e9", "1:2'"):
        row = lines.window_line(window(0)).replace('"70:10"', f'"{text}"').encode()
        damage = Damage()
        assert lines.read_window(lines.parse(row), damage).phases == {}
        assert damage.values == 1
    # The right letters in a wrong order are noticed late; they count for nothing.
    late = lines.read_window(
        lines.parse(lines.window_line(window(0)).replace('"70:10"', '"7:;,1"').encode()), Damage()
    )
    assert dict(late.phases["env.step"].histogram) == {}


def coarse(folder: Path) -> Shard:
    growing = GrowingShard("main", 8, coarse=True)
    for line in (folder / "main.jsonl").read_bytes().splitlines():
        growing.take(line)
    found = growing.shard()
    assert found is not None
    return found


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("count", [5, 16, 64, 65, 333, 700])
def test_a_coarse_reader_takes_summaries_and_every_sum(
    tmp_path: Path, count: int, ended: bool
) -> None:
    writer = ShardWriter(tmp_path, "main", {"role": "main"})
    for number in range(count):
        writer.window(window(number, loop=number > 40))
    if ended:
        writer.end({"code": 0})
    exact = merged(read_capture(tmp_path).main.windows)
    found = coarse(tmp_path)
    assert exact is not None
    assert found.damaged == 0
    # What is in the tail only is not in this file.
    in_shard = merged(w for w in found.windows)
    assert in_shard is not None
    assert in_shard.counters["env_steps"] == 4 * (in_shard.last + 1)
    if ended:
        assert in_shard == exact
    assert all(not (w.first <= 40 < w.last) for w in found.windows), "before and in the loop"


def test_a_coarse_reader_of_a_growing_shard_loses_nothing(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "main", {"role": "main"})
    reader = CaptureReader(tmp_path, most_of_main=1)
    for number in range(500):
        writer.window(window(number))
        if number % 11 == 0:
            total = merged(reader.read().main.windows)
            assert total is not None
            assert total.counters == {"env_steps": 4 * (number + 1)}


def test_a_coarse_reader_without_a_summary_reads_its_windows(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "main", {"role": "main"})
    for number in range(700):
        writer.window(window(number))
    writer.end({"code": 0})
    path = tmp_path / "main.jsonl"
    rows = path.read_bytes().splitlines(keepends=True)
    summaries = [n for n, row in enumerate(rows) if row.startswith(b'{"m":')]
    rows[summaries[1]] = rows[summaries[1]].replace(b'"z":"', b'"z":"AAAA')  # damaged
    del rows[summaries[3]]
    path.write_bytes(b"".join(rows))
    found = coarse(tmp_path)
    total = merged(found.windows)
    assert total is not None
    assert total.counters == {"env_steps": 4 * 700}
    assert found.damaged == 1
    path.write_bytes(b"".join(row for row in rows if not row.startswith(b'{"m":')))
    total = merged(coarse(tmp_path).windows)
    assert total is not None
    assert total.counters == {"env_steps": 4 * 700}


def test_packed_windows_are_read_without_trust() -> None:
    line = lines.packed_line(window(3))
    assert lines.read_window(lines.parse(line.encode()), Damage()) == lines.read_window(
        lines.parse(lines.window_line(window(3)).encode()), Damage()
    )
    assert lines.numbers_of(line.encode()) == (False, 3, 3)
    for wrong in (
        line.replace("[3,3]", "[3,4]"),
        line.replace('"z":"', '"z":"!'),
        '{"w":[3,3],"z":7}',
        '{"w":[3,3],"z":""}',
    ):
        with pytest.raises(lines.DamagedError):
            lines.read_window(lines.parse(wrong.encode()), Damage())
