"""The lines that make what a fix changes."""

from __future__ import annotations

from pathlib import Path

from findings_made import found

from hotloop.capture.schema import SourceLine
from hotloop.experiment.made_at import with_lines_to_edit


def lines(id: str, file: Path, source: str) -> list[int]:
    file.write_text(source)
    finding = found(id, where=[SourceLine(str(file), 9, "train")])
    return [line.line for line in with_lines_to_edit(finding, [str(file)]).where]


def test_calls_are_found_by_their_last_name(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    source = "import torch\n\ndef make(net):\n    return torch.optim.Adam(net)\n"
    assert lines("unfused-optimizer", file, source) == [4, 9]
    assert lines("loader-bound", file, "loader = DataLoader(data)\n") == [1, 9]
    assert lines("checkpointing", file, "run(callback=[CheckpointCallback(9)])\n") == [1, 9]


def test_many_calls_or_none_leave_the_finding_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    assert lines("unfused-optimizer", file, "Adam(a)\n" * 4) == [9]
    assert lines("unfused-optimizer", file, "def broken(:\n") == [9]
    assert lines("unfused-optimizer", file, "print('Adam')\n") == [9]
