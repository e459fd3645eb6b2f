"""The wheel that people install: built from the sdist's files, installed alone, put to use."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
#: What an sdist has (MANIFEST.in); anything else must not be needed to build.
SOURCES = ["src", "workloads", "pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "*.egg-info", "__pycache__")
    for name in SOURCES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=compiled)
        else:
            shutil.copy(source, folder / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, folder]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    # Warnings of setuptools are errors to come.
    assert "Deprecat" not in done.stderr
    assert "Warning" not in done.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"hotloop"}
    assert "hotloop/bootstrap/sitecustomize.py" in names
    assert "hotloop/workloads/snake_dqn/train.py" in names
    assert not [name for name in names if name.endswith((".c", ".h", ".pyc"))]


def test_the_wheel_works_alone(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True, with_pip=False)
    python = tmp_path / "bare" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--quiet", wheel], check=True, timeout=120)
    smoke = [python, REPOSITORY / "tools" / "smoke_test.py"]
    done = subprocess.run(smoke, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
