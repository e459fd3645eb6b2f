"""`hotloop list`: recorded runs, the newest first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotloop.cli import main


def test_list_names_the_newest_first(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    first, second = capsys.readouterr().out.splitlines()[1:3]
    assert first.split()[:4] == ["new", "run", "1", "d"]
    assert first.endswith("other.py")
    assert second.split()[:4] == ["old", "run", "30", "d"]
    assert main(["list", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["kind"] for each in document] == ["run", "run"]
