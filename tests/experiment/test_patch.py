"""Patches on a copy of a program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hotloop.errors import HotloopError
from hotloop.experiment import patch as patches
from hotloop.experiment.patch import (
    apply_to_text,
    copy_folder,
    linked_in_copy,
    parse_patch,
    patched_copy,
)

BEFORE = "".join(f"line {n}\n" for n in range(1, 31))


def make_program(folder: Path) -> Path:
    program = folder / "program"
    (program / "package").mkdir(parents=True)
    (program / "package" / "module.py").write_text(BEFORE)
    (program / "train.py").write_text("import package.module\n")
    (program / "data.csv").write_text("1,2\n")
    (program / ".git").mkdir()
    (program / ".git" / "config").write_text("")
    return program


def git_diff(before: Path, after: Path, folder: Path) -> str:
    """What git itself writes about two folders called a and b."""
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    for name, source in (("a", before), ("b", after)):
        shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns(".git"))
    result = subprocess.run(
        ["git", "diff", "--no-index", "--no-prefix", "a", "b"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return result.stdout


def test_what_git_writes_can_be_put_on(tmp_path: Path) -> None:
    program = make_program(tmp_path)
    after = tmp_path / "after"
    shutil.copytree(program, after)
    changed = BEFORE.replace("line 3\n", "line three\nand more\n").replace("line 25\n", "")
    (after / "package" / "module.py").write_text(changed)
    (after / "new.py").write_text("x = 1\n")
    (after / "train.py").unlink()
    patch = tmp_path / "fix.patch"
    patch.write_text(git_diff(program, after, tmp_path))
    copy = patched_copy(program, [patch], tmp_path / "copy")
    assert (copy / "package" / "module.py").read_text() == changed
    assert (copy / "new.py").read_text() == "x = 1\n"
    assert not (copy / "train.py").exists()
    # The program itself is as it was.
    assert (program / "package" / "module.py").read_text() == BEFORE
    assert not (program / "new.py").exists()


def test_python_is_copied_and_data_is_linked(tmp_path: Path) -> None:
    program = make_program(tmp_path)
    copy = patched_copy(program, [], tmp_path / "copy")
    assert not (copy / "package" / "module.py").is_symlink()
    assert (copy / "data.csv").read_text() == "1,2\n"
    assert not (copy / ".git").exists()


def test_lines_that_have_moved_are_found() -> None:
    patch = "--- a/x.py\n+++ b/x.py\n@@ -2,3 +2,3 @@\n line 2\n-line 3\n+LINE 3\n line 4\n"
    (file,) = parse_patch("p", patch)
    moved = "new first line\nand another\n" + BEFORE
    assert "LINE 3" in apply_to_text("x.py", moved, file.hunks)


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("not a patch at all", "not a patch"),
        ("--- a/x\n+++ b/x\n", "not a patch"),
        ("--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n-no such line\n+x\n nor this\n", "fit"),
        ("--- a/missing.py\n+++ b/missing.py\n@@ -1 +1 @@\n-a\n+b\n", "no missing.py"),
        ("--- a/../../etc/x\n+++ b/../../etc/x\n@@ -1 +1 @@\n-a\n+b\n", "outside"),
        ("--- a/train.py\n+++ b/train.py\n@@ -1,9 +1,9 @@\n a\n", "cut off"),
        ("--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n*what\n", "does not belong"),
    ],
)
def test_patches_that_cannot_be_put_on(tmp_path: Path, patch: str, says: str) -> None:
    program = make_program(tmp_path)
    file = tmp_path / "bad.patch"
    file.write_text(patch)
    with pytest.raises(HotloopError, match=says):
        patched_copy(program, [file], tmp_path / "copy")


def test_the_copy_is_made_anew(tmp_path: Path) -> None:
    program = make_program(tmp_path)
    copy = patched_copy(program, [], tmp_path / "copy")
    (copy / "left.py").write_text("")
    assert not (patched_copy(program, [], tmp_path / "copy") / "left.py").exists()


NEW_FILE = """\
--- /dev/null
+++ b/{name}
@@ -0,0 +1 @@
+changed
"""


@pytest.mark.parametrize("name", ["settings.yaml", "data/settings.yaml", "linked/settings.yaml"])
def test_a_patch_never_writes_through_a_link(tmp_path: Path, name: str) -> None:
    program, elsewhere = tmp_path / "program", tmp_path / "elsewhere"
    for folder in (program, program / "data", elsewhere):
        folder.mkdir()
        (folder / "settings.yaml").write_text("mine\n")
    (program / "linked").symlink_to(elsewhere)
    (tmp_path / "a.patch").write_text(NEW_FILE.format(name=name))
    copy = patched_copy(program, [tmp_path / "a.patch"], tmp_path / "copy")
    assert (copy / name).read_text() == "changed\n"
    assert (program / name).read_text() == "mine\n"
    assert (elsewhere / "settings.yaml").read_text() == "mine\n"


def test_linked_folders_are_in_the_copy(tmp_path: Path) -> None:
    program, elsewhere = tmp_path / "program", tmp_path / "elsewhere"
    program.mkdir()
    elsewhere.mkdir()
    (elsewhere / "model.py").write_text("x = 1\n")
    (program / "linked").symlink_to(elsewhere)
    (program / "nowhere.py").symlink_to(tmp_path / "missing.py")
    copy = patched_copy(program, [], tmp_path / "copy")
    assert (copy / "linked" / "model.py").read_text() == "x = 1\n"
    assert not (copy / "nowhere.py").exists()


def test_a_copy_to_run_in_links_only_what_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "LARGE_BYTES", 10)
    program = make_program(tmp_path)
    for name, text in (("small", "1"), ("large", "1" * 11)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.bin").write_text(text)
        (program / name).symlink_to(tmp_path / name)
    (program / "again").symlink_to(program)
    (program / "weights.bin").write_text("1" * 11)
    copy = copy_folder(program, tmp_path / "copy")
    links = {path.name for path in copy.iterdir() if path.is_symlink()}
    assert links == {"large", "again", "weights.bin"}
    assert {path.name for path in linked_in_copy(program)} == links
    (copy / "small" / "data.bin").write_text("changed")
    assert (tmp_path / "small" / "data.bin").read_text() == "1"


def test_a_folder_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "MOST_BYTES", 10)
    with pytest.raises(HotloopError, match="too much to copy for each run"):
        copy_folder(make_program(tmp_path), tmp_path / "copy")
