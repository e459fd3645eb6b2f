"""`hotloop diff`: two recorded runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hotloop.cli import main


def test_diff_of_the_two_newest(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("scipy")
    assert main(["diff"]) == 0
    shown = capsys.readouterr()
    assert "comparing runs/hotloop/new with runs/hotloop/old" in shown.err
    assert "env.step" in shown.out
    assert "times faster" in shown.out
    shutil.rmtree(here / "runs/hotloop/old")
    assert main(["diff"]) == 2
