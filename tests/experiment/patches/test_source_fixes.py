"""Which files are patched, and what a patch says about learning."""

from __future__ import annotations

from pathlib import Path

import pytest
from findings_made import found

from hotloop.capture.schema import SourceLine
from hotloop.experiment.fixes import CHANGES
from hotloop.experiment.patches import SHAPES, source_fixes
from hotloop.experiment.patches.source import Edit, Source


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    finding = found("missing-no-grad", 1.5, 2.0)
    finding.where = [SourceLine("/usr/lib/python3/site-packages/lib.py", 3, "f")]
    assert source_fixes(finding, tmp_path) == []


@pytest.mark.parametrize("id", ["image-resize", "graph-retained"])
def test_what_changes_learning_says_so(id: str) -> None:
    assert [learning for _, _, learning in SHAPES[id]] == [CHANGES]


def test_only_the_programs_own_files_are_patched(tmp_path: Path) -> None:
    text = "import copy\n\ndef step(x):\n    return copy.deepcopy(x)\n"
    package = tmp_path / "env" / "lib" / "site-packages"
    package.mkdir(parents=True)
    for folder in (tmp_path, package):
        (folder / "utils.py").write_text(text)
    finding = found("deepcopy-in-step", 1.5, 2.0)

    def fixes(file: str, recorded_in: str = "") -> int:
        finding.where = [SourceLine(file, 4, "step")]
        return len(source_fixes(finding, tmp_path, recorded_in))

    assert fixes(str(tmp_path / "utils.py")) == 1
    assert fixes("/copy/utils.py", "/copy") == 1
    # A library's file of the same name, wherever the library is.
    assert fixes("/usr/lib/library/utils.py", "/copy") == 0
    assert fixes(str(package / "utils.py")) == 0
    (tmp_path / "linked.py").symlink_to(package / "utils.py")
    assert fixes(str(tmp_path / "linked.py")) == 0


def test_a_shape_that_fails_costs_only_its_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: Source, line: int) -> list[Edit]:
        raise IndexError(line)

    shapes = [("broken", fail, ""), *SHAPES["deepcopy-in-step"]]
    monkeypatch.setitem(SHAPES, "deepcopy-in-step", shapes)
    (tmp_path / "utils.py").write_text("import copy\n\nx = copy.deepcopy(y)\n")
    finding = found("deepcopy-in-step", 1.5, 2.0)
    finding.where = [SourceLine(str(tmp_path / "utils.py"), 3, "step")]
    assert [fix.name for fix in source_fixes(finding, tmp_path)] == ["shallow copy"]
