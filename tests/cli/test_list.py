"""`hotloop list`: recorded runs, the newest first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotloop.cli import main
from hotloop.cli.list import _described


def test_list_names_the_newest_first(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    first, second = capsys.readouterr().out.splitlines()[1:3]
    assert first.split()[:4] == ["new", "run", "1", "d"]
    assert first.endswith("other.py")
    assert second.split()[:4] == ["old", "run", "30", "d"]
    assert main(["list", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["kind"] for each in document] == ["run", "run"]
    assert main(["list", "--format", "json", "--last", "1"]) == 0
    assert [each["folder"] for each in json.loads(capsys.readouterr().out)] == ["runs/hotloop/new"]


def test_a_long_command_is_not_cut_behind_its_state() -> None:
    cells = "train-1  run  "
    assert _described(cells, "train.py", "failed (ValueError)", 80) == [
        "train-1  run  train.py  [failed (ValueError)]"
    ]
    assert _described(cells, "train.py", "failed (ValueError)", 40) == [
        "train-1  run  train.py  [failed]"
    ]
    assert _described(cells, "train.py --seed 1 --envs 8", "failed (ValueError)", 40) == [
        "train-1  run  [failed]",
        "  train.py --seed 1 --envs 8",
    ]
    assert _described(cells, "train.py", "", 20) == ["train-1  run", "  train.py"]
