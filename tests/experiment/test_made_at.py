"""The lines that make what a fix changes."""

from __future__ import annotations

from pathlib import Path

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import HIGH, WARNING, Finding, Gain
from hotloop.experiment.made_at import with_lines_to_edit


def finding(id: str, file: Path) -> Finding:
    where = [SourceLine(str(file), 9, "train")]
    return Finding(id, WARNING, "Title", "learn", Gain(1.1, 1.2), HIGH, "Fix", "", where)


def lines(id: str, file: Path, source: str) -> list[int]:
    file.write_text(source)
    return [line.line for line in with_lines_to_edit(finding(id, file), [str(file)]).where]


def test_calls_are_found_by_their_last_name(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    source = "import torch\n\ndef make(net):\n    return torch.optim.Adam(net)\n"
    assert lines("unfused-optimizer", file, source) == [4, 9]
    assert lines("loader-bound", file, "loader = DataLoader(data)\n") == [1, 9]


def test_many_calls_or_none_leave_the_finding_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    assert lines("unfused-optimizer", file, "Adam(a)\n" * 4) == [9]
    assert lines("unfused-optimizer", file, "def broken(:\n") == [9]
    assert lines("unfused-optimizer", file, "print('Adam')\n") == [9]
