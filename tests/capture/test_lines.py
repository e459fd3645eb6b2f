"""Lines of a shard: parsed without trust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from written_shards import window

from hotloop.analyze.processes.training import read_capture
from hotloop.capture import lines, strictness
from hotloop.capture.records import Damage
from hotloop.capture.window import PhaseDelta
from hotloop.capture.writer import ShardWriter


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
    for change in ({"w": [-1, 0]}, {"t": [0, float("inf")]}, {"l": 2**70}):
        with pytest.raises(lines.DamagedError):
            lines.read_window({**good, **change}, Damage())


BAD_NUMBERS = [float("nan"), float("inf"), -float("inf"), 2**70, 1e301, "7", None, [1]]


@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
@pytest.mark.parametrize(("table", "name"), [("c", "env_steps"), ("c", "mine"), ("g", "envs")])
def test_a_bad_number_costs_itself_alone(table: str, name: str, bad: object) -> None:
    good = json.loads(lines.window_line(window(0)))
    good[table] = {**good[table], "syncs": 3} if table == "c" else {"resident": 3}
    damage = Damage()
    read = lines.read_window({**good, table: {**good[table], name: bad}}, damage)
    assert damage.values == 1
    assert name not in (read.counters if table == "c" else read.gauges)
    assert (read.counters if table == "c" else read.gauges) == {
        key: value for key, value in good[table].items() if key != name
    }
    assert read.phases.keys() == good["p"].keys()


def test_a_bad_row_costs_itself_alone() -> None:
    good = json.loads(lines.window_line(window(0)))
    row = next(iter(good["p"].values()))
    damage = Damage()
    changes = {
        "p": {**good["p"], "bad": [1], "worse": [-1, *row[1:]], "worst": 7},
        "s": {"a": [[1, 0, 2, 3], [1, 0, "x", 3]], "b": 5},
    }
    read = lines.read_window({**good, **changes}, damage)
    assert read.phases.keys() == good["p"].keys()
    assert read.samples == {("a", 1, 0): [2, 3]}
    assert damage.values == 5


def test_counting_true_counts_one() -> None:
    good = json.loads(lines.window_line(window(0)))
    damage = Damage()
    read = lines.read_window({**good, "c": {"won": True}}, damage)
    assert (read.counters, damage.values) == ({"won": 1}, 0)


def test_a_gauge_of_a_newer_hotloop_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    good = json.loads(lines.window_line(window(0)))
    with pytest.raises(strictness.UndeclaredError, match="warp_factor"):
        lines.read_window({**good, "g": {"warp_factor": 9}}, Damage())
    monkeypatch.delenv(strictness.VARIABLE)
    damage = Damage()
    read = lines.read_window({**good, "g": {"warp_factor": 9, "envs": 2}}, damage)
    assert (read.gauges, damage.values) == ({"envs": 2}, 0)
