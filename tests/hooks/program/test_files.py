"""Whose file it is, wherever hotloop itself is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hotloop
from hotloop.hooks.program.files import is_program_file

ROOT = Path(hotloop.__file__).parent


@pytest.mark.parametrize("name", ["__init__.py", "measure/profiler.py", "hooks/program/files.py"])
def test_hotloops_own_files_are_not_the_programs(name: str) -> None:
    assert not is_program_file(str(ROOT / name))


def test_libraries_and_python_are_not_the_programs() -> None:
    assert not is_program_file(pytest.__file__)
    assert not is_program_file(shutil.__file__)
    assert not is_program_file("<frozen importlib._bootstrap>")
    assert not is_program_file(None)


def test_a_script_is_the_programs_also_beside_a_checkout_of_hotloop(tmp_path: Path) -> None:
    script = tmp_path / "src" / "train.py"
    assert is_program_file(str(script))
    # A copy that no `site-packages` is part of, as a checkout on `PYTHONPATH` is.
    copy = tmp_path / "src" / "hotloop"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "from hotloop.hooks.program.files import is_program_file as own; import hotloop, sys;"
        "print(hotloop.__file__, own(hotloop.__file__), own(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(script)],
        env={"PYTHONPATH": str(copy.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(copy / "__init__.py"), "False", "True"]
