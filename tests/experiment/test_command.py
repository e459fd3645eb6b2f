"""Commands as users write them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hotloop.errors import HotloopError
from hotloop.experiment.command import check_exists, parse_command, short_names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("train.py --turbo", ("train.py", "--turbo")),
        ("python train.py 'a b'", ("train.py", "a b")),
        ("python3.11 -m package.train", ("-m", "package.train")),
        ("hotloop run train.py", ("train.py",)),
        ("-c 'print(1)'", ("-c", "print(1)")),
    ],
)
def test_programs(text: str, words: tuple[str, ...]) -> None:
    assert parse_command(text).words == words
    assert parse_command(text).python == sys.executable


def test_settings_of_the_environment_come_first() -> None:
    command = parse_command("OMP_NUM_THREADS=1 NAME='a b' train.py X=2")
    assert command.environment == {"OMP_NUM_THREADS": "1", "NAME": "a b"}
    assert command.words == ("train.py", "X=2")
    assert str(command) == "OMP_NUM_THREADS=1 NAME='a b' train.py X=2"


def test_an_interpreter_with_a_path_is_that_interpreter() -> None:
    assert parse_command("/opt/env/bin/python train.py").python == "/opt/env/bin/python"


@pytest.mark.parametrize(
    "text", ["", "   ", "python", "-m", "--turbo train.py", "'train.py", "A=1"]
)
def test_what_is_no_command(text: str) -> None:
    with pytest.raises(HotloopError):
        parse_command(text)


def test_the_command_line_of_a_run() -> None:
    argv = parse_command("train.py --help").argv("folder", "10steps")
    assert argv[1:] == [
        *("-m", "hotloop", "run", "-q", "-o", "folder", "--stop-after", "10steps"),
        *("--", "train.py", "--help"),
    ]


def test_arguments_are_taken_away_and_added() -> None:
    command = parse_command("train.py --slow --envs 8")
    changed = command.with_arguments(("--push", "loop"), ("--slow",))
    assert changed.words == ("train.py", "--envs", "8", "--push", "loop")


def test_a_missing_script_is_known_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(HotloopError, match=r"missing\.py: no such program"):
        check_exists(parse_command("missing.py"))
    check_exists(parse_command("-m anything"))


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("train.py --no-turbo", "train.py --turbo", ("--no-turbo", "--turbo")),
        ("train.py", "train.py --turbo", ("as it is", "--turbo")),
        ("train.py", "A=1 train.py", ("as it is", "A=1")),
        ("train.py", "train.py", ("first", "second")),
        ("old.py " + "x" * 40, "new.py", ("first", "second")),
    ],
)
def test_names_are_what_differs(first: str, second: str, names: tuple[str, str]) -> None:
    assert short_names(parse_command(first), parse_command(second)) == names
