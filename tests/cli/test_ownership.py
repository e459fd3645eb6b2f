"""What may be deleted: folders in which hotloop wrote everything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hotloop.cli.ownership import foreign_entry, is_capture, is_experiment
from hotloop.experiment.marker import write_marker

PLAIN = Path(__file__).parents[1] / "data" / "captures" / "plain"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PLAIN, tmp_path / "run"))


def test_a_capture_and_what_commands_write_beside_it(capture: Path) -> None:
    for name in ("report.html", "proof.json", "main.prof", "main.tail-3.jsonl"):
        (capture / name).touch()
    assert is_capture(capture)
    assert foreign_entry(capture) is None


@pytest.mark.parametrize("name", ["notes.txt", "other.jsonl", "gone.tail-1.jsonl", "weights.pt"])
def test_a_file_of_the_user_is_found(capture: Path, name: str) -> None:
    (capture / name).write_text("mine\n")
    assert foreign_entry(capture) == capture / name


def test_folders_and_links_in_a_capture_are_not_hotloops(capture: Path, tmp_path: Path) -> None:
    (capture / "models").mkdir()
    assert foreign_entry(capture) == capture / "models"
    (capture / "models").rmdir()
    (capture / "a.jsonl").symlink_to(capture / "main.jsonl")
    assert foreign_entry(capture) == capture / "a.jsonl"
    (tmp_path / "link").symlink_to(capture)
    assert not is_capture(tmp_path / "link")


def test_an_experiment_holds_captures_logs_and_copies(capture: Path, tmp_path: Path) -> None:
    folder = tmp_path / "compare"
    folder.mkdir()
    assert not is_experiment(folder)
    write_marker(folder, "compare")
    shutil.copytree(capture, folder / "run-1")
    (folder / "run-1.log").touch()
    (folder / "fix-2.patch").touch()
    (folder / "scratch").mkdir()
    (folder / "scratch" / "train.py").touch()
    assert is_experiment(folder)
    assert foreign_entry(folder) is None
    (folder / "run-1" / "thesis.tex").touch()
    assert foreign_entry(folder) == folder / "run-1" / "thesis.tex"


def test_the_patch_that_takes_a_change_back_is_kept(tmp_path: Path) -> None:
    write_marker(tmp_path, "prove")
    (tmp_path / "undo.patch").touch()
    assert foreign_entry(tmp_path) == tmp_path / "undo.patch"


def test_something_else_with_the_name_of_a_shard(tmp_path: Path) -> None:
    for content in ("", "not json\n", "[]\n", '{"hotloop": 3}\n', '{"hotloop": "other/1"}\n'):
        (tmp_path / "main.jsonl").write_text(content)
        assert not is_capture(tmp_path)
