"""`hotloop open`: the page of a recorded run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotloop.cli import main


def test_open_writes_the_page_into_the_capture(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", "--print"]) == 0
    assert capsys.readouterr().out == "runs/hotloop/new/report.html\n"
    page = here / "runs/hotloop/new/report.html"
    assert page.read_text().startswith("<!doctype html>")
    assert os.name != "posix" or page.stat().st_mode & 0o077 == 0
