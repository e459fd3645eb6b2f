"""Formats by the ending of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_analyses import analysis

from hotloop.report.document import make_report
from hotloop.report.formats import format_of
from hotloop.report.output import render, save


def test_output_by_ending(tmp_path: Path) -> None:
    from hotloop.errors import HotloopError

    assert format_of(Path("a.json")) == "json"
    with pytest.raises(HotloopError, match=r"use one of .*\.json"):
        format_of(Path("a.doc"))
    path = tmp_path / "report.json"
    text: Any = render("json", make_report(analysis(), []))
    save(path, text, force=False)
    with pytest.raises(HotloopError, match="-f to overwrite"):
        save(path, text, force=False)
    save(path, text, force=True)
    with pytest.raises(HotloopError, match="cannot be written"):
        save(tmp_path / "no" / "report.json", text, force=False)
