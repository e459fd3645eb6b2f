"""Confirmed patches are written when asked, never over uncommitted changes, and can be undone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hotloop.capture.proofs import CONFIRMED, REFUTED, Proof, TriedFix
from hotloop.errors import HotloopError
from hotloop.experiment.applying import (
    REVERSE,
    apply_patches,
    check_together,
    confirmed_diffs,
)

SOURCE = "import torch\n\nx = 1\ny = 2\n"
DIFF = "--- a/train.py\n+++ b/train.py\n@@ -2,3 +2,3 @@\n \n-x = 1\n+x = 10\n y = 2\n"


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    program = tmp_path / "program"
    program.mkdir()
    (program / "train.py").write_text(SOURCE)
    git(program, "init", "-q")
    git(program, "add", "train.py")
    git(program, "commit", "-qm", "first")
    return program


def test_a_confirmed_patch_is_written_and_can_be_taken_back(repository: Path) -> None:
    keep = repository.parent / "proof"
    assert apply_patches(repository, [DIFF], keep) == (["train.py"], keep / REVERSE)
    assert (repository / "train.py").read_text() == SOURCE.replace("x = 1\n", "x = 10\n")
    git(repository, "apply", str(keep / REVERSE))
    assert (repository / "train.py").read_text() == SOURCE


def test_uncommitted_changes_are_not_overwritten(repository: Path) -> None:
    changed = SOURCE + "z = 3\n"
    (repository / "train.py").write_text(changed)
    with pytest.raises(HotloopError, match="uncommitted changes"):
        apply_patches(repository, [DIFF], repository.parent / "proof")
    assert (repository / "train.py").read_text() == changed
    apply_patches(repository, [DIFF], repository.parent / "proof", force=True)
    assert (repository / "train.py").read_text() == changed.replace("x = 1\n", "x = 10\n")


def test_what_git_does_not_know_needs_force(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SOURCE)
    with pytest.raises(HotloopError, match="not under git"):
        apply_patches(tmp_path, [DIFF], tmp_path / "proof")


def test_a_patch_that_no_longer_fits_changes_nothing(repository: Path) -> None:
    other = DIFF.replace("train.py", "other.py").replace("-x = 1", "-x = 7")
    (repository / "other.py").write_text(SOURCE)
    with pytest.raises(HotloopError, match="does not fit"):
        apply_patches(repository, [DIFF, other], repository.parent / "proof", force=True)
    assert (repository / "train.py").read_text() == SOURCE


def test_only_confirmed_patches_count() -> None:
    tried = [
        TriedFix("a", "one", CONFIRMED, diff=DIFF),
        TriedFix("b", "two", REFUTED, diff="other"),
        TriedFix("c", "three", CONFIRMED),
    ]
    assert confirmed_diffs(Proof("train.py", "runs", 300.0, tried=tried)) == [DIFF]


@pytest.mark.parametrize(
    "source",
    [SOURCE.replace("\n", "\r\n"), SOURCE.removesuffix("\n"), SOURCE.replace("y", "\fz = 0\ny")],
    ids=["CRLF", "no final newline", "form feed"],
)
def test_other_characters_stay_as_they_are(repository: Path, source: str) -> None:
    path = repository / "train.py"
    path.write_bytes(source.encode())
    diff = DIFF if "\f" not in source else DIFF.replace(" y = 2", " \fz = 0")
    _, reverse = apply_patches(repository, [diff], repository.parent / "proof", force=True)
    assert path.read_bytes().decode() == source.replace("x = 1", "x = 10")
    git(repository, "apply", str(reverse))
    assert path.read_bytes().decode() == source


def test_the_way_back_is_never_overwritten(repository: Path) -> None:
    keep = repository.parent / "proof"
    apply_patches(repository, [DIFF], keep)
    git(repository, "checkout", "train.py")
    assert apply_patches(repository, [DIFF], keep)[1].name == "reverse-2.patch"


def test_files_that_git_does_not_track_need_force(repository: Path) -> None:
    (repository / ".gitignore").write_text("own.py\n")
    (repository / "own.py").write_text(SOURCE)
    with pytest.raises(HotloopError, match=r"own\.py: git does not track it"):
        apply_patches(repository, [DIFF.replace("train.py", "own.py")], repository.parent / "proof")
    assert (repository / "own.py").read_text() == SOURCE


@pytest.mark.parametrize("name", ["../outside.py", "linked.py", "folder/train.py"])
def test_nothing_outside_the_folder_is_written(repository: Path, name: str) -> None:
    outside = repository.parent / "outside.py"
    outside.write_text(SOURCE)
    (repository / "linked.py").symlink_to(outside)
    elsewhere = repository.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "train.py").write_text(SOURCE)
    (repository / "folder").symlink_to(elsewhere)
    diff = DIFF.replace("train.py", name)
    with pytest.raises(HotloopError, match=r"outside|symbolic link"):
        apply_patches(repository, [diff], repository.parent / "proof", force=True)
    absolute = DIFF.replace("a/train.py", str(outside)).replace("b/train.py", str(outside))
    with pytest.raises(HotloopError, match="outside"):
        apply_patches(repository, [absolute], repository.parent / "proof", force=True)
    assert outside.read_text() == (elsewhere / "train.py").read_text() == SOURCE


def test_a_file_that_cannot_be_replaced_leaves_all_as_they_were(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "second.py").write_text(SOURCE)
    replace, calls = os.replace, []

    def fail_once(source: Path, target: Path) -> None:
        calls.append(target.name)
        if len(calls) == 2:
            raise OSError("the disk is full")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_once)
    diffs = [DIFF, DIFF.replace("train.py", "second.py")]
    with pytest.raises(HotloopError, match="nothing was changed: the disk is full"):
        apply_patches(repository, diffs, repository.parent / "proof", force=True)
    assert (repository / "train.py").read_text() == SOURCE
    assert (repository / "second.py").read_text() == SOURCE
    assert not list(repository.glob("*.hotloop")) + list(repository.glob(".*.hotloop"))


def test_several_patches_need_to_be_confirmed_together() -> None:
    proof = Proof("train.py", "runs", 300.0)
    check_together(proof, [DIFF])
    with pytest.raises(HotloopError, match="together they are not measured"):
        check_together(proof, [DIFF, "other"])
    proof.together = TriedFix("", "both", REFUTED)
    with pytest.raises(HotloopError, match="together they are refuted"):
        check_together(proof, [DIFF, "other"])
    proof.together = TriedFix("", "both", CONFIRMED)
    check_together(proof, [DIFF, "other"])
