"""Names of processes, and of their files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hotloop.run.naming import FORKED, MAIN, STARTED, create_file, process_name


def create(folder: Path, stem: str) -> str:
    (folder / stem).touch(exist_ok=False)
    return stem


def test_the_main_process_has_one_name(tmp_path: Path) -> None:
    assert create_file(tmp_path, MAIN, create) == "main"
    with pytest.raises(FileExistsError):  # a capture is never overwritten
        create_file(tmp_path, MAIN, create)


def test_names_of_files_are_safe_and_never_collide(tmp_path: Path) -> None:
    role = "env/worker #3 " + "x" * 80
    stems = [create_file(tmp_path, role, create) for _ in range(3)]
    assert stems[0].startswith("env-worker-3-xxx")
    assert stems[0].endswith(f"-{os.getpid()}")
    assert stems[1:] == [f"{stems[0]}-1", f"{stems[0]}-2"]
    assert len(stems[0]) <= 41 + len(str(os.getpid()))


def test_roles_of_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(sys, "argv", ["/home/me/actor.py", "--seed", "1"])
    assert process_name("collector-2") == "collector-2"
    assert process_name(STARTED) == "actor"
    assert process_name(FORKED) == FORKED
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert process_name(STARTED) == FORKED
    monkeypatch.setenv("RANK", "3")
    assert process_name(STARTED) == "rank-3"
