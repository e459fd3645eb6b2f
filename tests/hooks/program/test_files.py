"""Whose file it is, wherever hotloop itself is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pluggy
import pytest

import hotloop
from hotloop.hooks.program.files import is_program_file

ROOT = Path(hotloop.__file__).parent


@pytest.mark.parametrize("name", ["__init__.py", "measure/profiler.py", "hooks/program/files.py"])
def test_hotloops_own_files_are_not_the_programs(name: str) -> None:
    assert not is_program_file(str(ROOT / name))


def test_libraries_and_python_are_not_the_programs() -> None:
    assert not is_program_file(pluggy.__file__)  # pytest itself is the program here
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


@pytest.mark.parametrize("how", ["module", "command", "script"])
def test_an_installed_package_that_is_the_program_is_no_library(how: str, tmp_path: Path) -> None:
    """`python -m package.train` and the command that it installs; a script only imports it."""
    site = tmp_path / "site-packages"
    package = site / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "other.py").write_text("")
    (package / "train.py").write_text(
        "from hotloop.hooks.program.files import is_program_file as own\n"
        "import package.other, pluggy\n"
        "def main(): print(own(package.other.__file__), own(pluggy.__file__))\n"
        "if __name__ == '__main__': main()\n"
    )
    start = tmp_path / "start.py"
    start.write_text("from package.train import main\nmain()\n")
    if how == "command":
        start.write_text(
            "import sysconfig\n"
            "sysconfig.get_path = lambda _, known=sysconfig.get_path: (\n"
            f"    {str(tmp_path)!r} if _ == 'scripts' else known(_))\n"
            "from package.train import main\nmain()\n"
        )
    command = ["-m", "package.train"] if how == "module" else [str(start)]
    path = os.pathsep.join([str(site), str(ROOT.parent)])
    done = subprocess.run(
        [sys.executable, *command], env={**os.environ, "PYTHONPATH": path}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [str(how != "script"), "False"]
