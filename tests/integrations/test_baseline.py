"""Baselines of marked tests: one small file per test."""

from __future__ import annotations

from pathlib import Path

import pytest
from analyses import window
from made_captures import made_shard

from hotloop.analyze.processes.contention import Contention
from hotloop.capture.reader import Capture
from hotloop.errors import HotloopError
from hotloop.integrations.baseline import load, path_of, store


def test_each_test_has_its_file(tmp_path: Path) -> None:
    path = path_of(tmp_path, "tests/test_speed.py::test_ppo[cpu/1]")
    assert path == tmp_path / "tests" / "test_speed" / "test_ppo-cpu-1.jsonl"


def test_a_baseline_reads_back_without_what_is_of_the_machine(tmp_path: Path) -> None:
    made = window(0, {"env.step": (0.9, 10)}, counters={"env_steps": 10.0})
    made.samples = {("env.step", 1, 0): [5, 900_000_000]}
    header = {"host": "here", "pid": 7, "command": ["/home/me/train.py"]}
    shard = made_shard("main", header, {"device": "cpu"}, [made])
    path = tmp_path / "new" / "test.jsonl"
    store(path, Capture(tmp_path, [shard]), Contention([(0.0, 0.0), (1.0, 0.5)], 0.25))
    assert "/home/me" not in path.read_text()
    loaded = load(path)
    assert loaded is not None
    analysis, waited = loaded
    assert analysis.run.env_steps == 10
    assert analysis.run.header.host == "here"
    assert waited == Contention([(0.0, 0.0), (1.0, 0.5)], 0.25)


def test_no_file_is_no_baseline_and_another_file_is_an_error(tmp_path: Path) -> None:
    assert load(tmp_path / "gone.jsonl") is None
    (tmp_path / "other.jsonl").write_text("not a shard\n")
    with pytest.raises(HotloopError, match="no baseline"):
        load(tmp_path / "other.jsonl")
