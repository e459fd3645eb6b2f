"""Folders that the program makes although hotloop has made them for its capture."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotloop import Profiler
from hotloop.run.own_folders import missing, share


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[list[Path]]:
    """`runs` and `runs/hotloop`, made by hotloop."""
    made = missing(tmp_path / "runs" / "hotloop")
    os.makedirs(tmp_path / "runs" / "hotloop")
    core = Profiler().core
    pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    undo = share(core, made)
    yield made
    undo()


def test_missing_folders_are_named_from_the_inside_out(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "hotloop"
    assert missing(folder) == [folder, tmp_path / "runs"]
    folder.mkdir(parents=True)
    assert missing(folder) == []


def test_the_program_makes_runs_once(folders: list[Path]) -> None:
    runs = folders[-1]
    os.mkdir(runs)
    with pytest.raises(FileExistsError):
        os.mkdir(runs)


def test_a_folder_in_which_the_program_has_written_is_its_own(folders: list[Path]) -> None:
    runs = folders[-1]
    (runs / "mine").touch()
    with pytest.raises(FileExistsError):
        runs.mkdir()


def test_other_folders_fail_as_always(folders: list[Path], tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        os.mkdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        os.mkdir(tmp_path / "a" / "b")


def test_makedirs_makes_runs_too(folders: list[Path]) -> None:
    os.makedirs(folders[-1])
    with pytest.raises(FileExistsError):
        os.makedirs(folders[-1])
