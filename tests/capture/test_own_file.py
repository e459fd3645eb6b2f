"""A file of a capture whose descriptor the program has closed, or uses for a file of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hotloop.capture.own_file import OwnFile


@pytest.fixture
def descriptor_and_file(tmp_path: Path) -> tuple[int, OwnFile]:
    before = _open_descriptors()
    file = OwnFile(tmp_path / "shard", new=True)
    (number,) = _open_descriptors() - before
    return number, file


def _open_descriptors() -> set[int]:
    def is_open(number: int) -> bool:
        try:
            os.fstat(number)
        except OSError:
            return False
        return True

    return set(filter(is_open, range(512)))


def test_the_program_gets_the_low_numbers(descriptor_and_file: tuple[int, OwnFile]) -> None:
    number, file = descriptor_and_file
    lowest = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest)
    file.close()
    assert lowest < number


def test_a_closed_descriptor_is_opened_again(
    descriptor_and_file: tuple[int, OwnFile], tmp_path: Path
) -> None:
    number, file = descriptor_and_file
    file.write(b"one ")
    os.close(number)
    file.write(b"two")
    file.close()
    assert (tmp_path / "shard").read_bytes() == b"one two"


def test_a_file_of_the_program_with_the_same_number_is_left_alone(
    descriptor_and_file: tuple[int, OwnFile], tmp_path: Path
) -> None:
    number, file = descriptor_and_file
    os.close(number)
    theirs = os.open(tmp_path / "checkpoint", os.O_WRONLY | os.O_CREAT)
    os.dup2(theirs, number, inheritable=False)
    os.close(theirs)
    theirs = number
    file.write(b"ours")
    file.close()
    os.write(theirs, b"theirs")
    os.close(theirs)
    assert (tmp_path / "checkpoint").read_bytes() == b"theirs"
    assert (tmp_path / "shard").read_bytes() == b"ours"


def test_closing_leaves_a_file_of_the_program_open(
    descriptor_and_file: tuple[int, OwnFile], tmp_path: Path
) -> None:
    number, file = descriptor_and_file
    os.close(number)
    theirs = os.open(tmp_path / "checkpoint", os.O_WRONLY | os.O_CREAT)
    file.close()
    assert os.write(theirs, b"x") == 1
    os.close(theirs)


def test_a_closed_file_is_not_written(tmp_path: Path) -> None:
    file = OwnFile(tmp_path / "shard", new=True)
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.write(b"x")


def test_a_file_whose_folder_was_deleted_is_made_again_when_it_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "capture"
    folder.mkdir(parents=True)
    file = OwnFile(folder / "main.jsonl", new=True)
    file.write(b"one\n")
    shutil.rmtree(tmp_path / "runs")
    file.write(b"two\n")
    assert not folder.exists()  # it is the program's folder as long as it runs
    file.close()
    assert (folder / "main.jsonl").read_bytes() == b"one\ntwo\n"
