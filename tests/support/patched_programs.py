"""Programs before and after a patch of their source."""

from __future__ import annotations

import textwrap
from pathlib import Path

from findings_made import found

from hotloop.capture.schema import SourceLine
from hotloop.experiment.patch import apply_to_text, parse_patch
from hotloop.experiment.patches import source_fixes


def patched(folder: Path, id: str, source: str, *marks: str) -> str | None:
    """The program after its patch, or None where none fits; `marks` name the finding's lines."""
    text = textwrap.dedent(source).lstrip()
    (folder / "train.py").write_text(text)
    lines = [n for n, line in enumerate(text.splitlines(), 1) if any(m in line for m in marks)]
    finding = found(id, 1.5, 2.0)
    finding.where = [SourceLine("/elsewhere/scratch/train.py", line, "f") for line in lines]
    fixes = source_fixes(finding, folder, "/elsewhere/scratch")
    if not fixes:
        return None
    (file,) = parse_patch("fix", fixes[0].diff)
    assert (folder / "train.py").read_text() == text
    return apply_to_text("train.py", text, file.hunks)
