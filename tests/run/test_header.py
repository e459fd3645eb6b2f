"""The header says what is needed to read a shard, and nothing secret."""

from __future__ import annotations

import json
import os

import pytest

from hotloop import Profiler, __version__
from hotloop.capture.schema import Header
from hotloop.capture.values import RegionCost
from hotloop.run.header import process_header


def test_it_reads_back() -> None:
    command = ["train.py", "--api-key", "hunter2hunter2"]
    made = process_header(Profiler(), "main", command, RegionCost(30.0, 40.0), {"functions": "off"})
    header = Header(json.loads(json.dumps(made)))
    assert header.damaged == 0
    assert (header.version, header.role, header.pid) == (__version__, "main", os.getpid())
    assert header.cost == RegionCost(30.0, 40.0)
    assert header.functions == "off"
    assert "hunter2hunter2" not in header.command


def test_no_environment_variable_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "a-secret-of-the-user")
    assert "a-secret-of-the-user" not in json.dumps(process_header(Profiler(), "main"))
