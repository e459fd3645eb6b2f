"""Folders of captures: new ones only, with readable errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.errors import HotloopError
from hotloop.run.folders import LONGEST_NAME, as_typed, make_folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_runs_of_the_same_second_get_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.strftime", lambda _: "20300101-120000")
    names = [make_folder(None, "train.py").name for _ in range(3)]
    first = "train.py-20300101-120000"
    assert names == [first, f"{first}-2", f"{first}-3"]


def test_a_label_becomes_a_safe_name(tmp_path: Path) -> None:
    made = make_folder(None, "../../a b/" + "x" * 300)
    assert made.parent == tmp_path / "runs" / "hotloop"
    assert made.name.startswith("a-b-xxx")
    assert len(made.name) <= LONGEST_NAME + len("-20300101-120000")
    assert make_folder(None, "///").name.startswith("program-")


def test_a_given_folder_is_never_overwritten(tmp_path: Path) -> None:
    assert make_folder("mine/run", "train.py") == tmp_path / "mine" / "run"
    with pytest.raises(HotloopError, match="mine/run: already exists"):
        make_folder("mine/run", "train.py")


def test_a_folder_that_cannot_be_made_says_why() -> None:
    Path("file").touch()
    with pytest.raises(HotloopError, match="cannot be created"):
        make_folder("file/run", "train.py")


def test_paths_as_one_types_them(tmp_path: Path) -> None:
    assert as_typed(tmp_path / "runs" / "a b") == "'runs/a b'"
    assert as_typed(tmp_path.parent) == str(tmp_path.parent)
