"""The marker in an experiment's folder."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from hotloop.experiment.marker import NAME, Marker, read_marker, write_marker


def test_a_marker_names_the_process_that_writes_there(tmp_path: Path) -> None:
    write_marker(tmp_path, "sweep")
    assert read_marker(tmp_path) == Marker("sweep", os.getpid(), platform.node())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"schema": "other/1", "kind": "sweep", "pid": 1, "host": "a"}',
        '{"schema": "hotloop.folder/1", "kind": "sweep"}',
        '{"schema": "hotloop.folder/1", "kind": "sweep", "pid": "x", "host": "a"}',
    ],
)
def test_anything_else_is_not_hotloops(tmp_path: Path, content: str) -> None:
    assert read_marker(tmp_path) is None
    (tmp_path / NAME).write_text(content)
    assert read_marker(tmp_path) is None
