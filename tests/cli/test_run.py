"""Where hotloop's options end and the program begins."""

from __future__ import annotations

import pytest

from hotloop.cli import parser_of
from hotloop.cli.run import split_at_program
from hotloop.errors import HotloopError


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["train.py", "--steps", "5"], ["train.py", "--steps", "5"]),
        (["-q", "--name", "first", "train.py", "-q"], ["train.py", "-q"]),
        (["-q", "--", "train.py"], ["train.py"]),
        (["-q", "-m", "package", "-o", "x"], ["-m", "package", "-o", "x"]),
        (["-c", "print(1)"], ["-c", "print(1)"]),
        (["-q", "-"], ["-"]),
    ],
)
def test_the_first_word_of_the_program_ends_the_options(argv: list[str], words: list[str]) -> None:
    options, found = split_at_program(parser_of("run"), argv, "hotloop run train.py")
    assert found == words
    assert options.quiet is ("-q" in argv[: len(argv) - len(words)])


def test_without_a_program_an_example_is_shown() -> None:
    with pytest.raises(HotloopError, match="no program to run"):
        split_at_program(parser_of("run"), ["-q"], "hotloop run train.py")
