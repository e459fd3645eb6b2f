"""`hotloop demo`: the quickest way to see what hotloop says."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Hotloop, check_refused

from hotloop.cli import demo
from hotloop.cli.demo import DEMOS, workloads_folder

pytestmark = pytest.mark.programs


def test_every_demo_is_there() -> None:
    for each in DEMOS.values():
        assert (workloads_folder() / each.folder / "train.py").is_file()


def test_the_list_says_what_there_is(hotloop: Hotloop) -> None:
    done = hotloop("demo", "--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(DEMOS)


def test_an_unknown_name_lists_the_known(hotloop: Hotloop) -> None:
    done = hotloop("demo", "chess")
    check_refused(done, "snake")


def test_it_profiles_a_program_and_says_what_to_type_next(hotloop: Hotloop, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = hotloop("demo", "snake", "--slow", "--steps", "5120", "--no-evaluation")
    assert done.returncode == 0, done.stderr
    assert "Where the" in done.stderr
    assert "learn.backward" in done.stderr
    assert "Next: hotloop" in done.stderr
    assert "Total environment steps: 5120" in done.stdout


def test_a_missing_library_names_the_extra(hotloop: Hotloop, tmp_path: Path) -> None:
    """A folder that shadows nothing: torch is hidden by an import that fails."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'torchrl':\n"
        "            raise ModuleNotFoundError(name)\n"
        "        return None\n"
        "sys.meta_path.insert(0, Hide())\n"
    )
    done = hotloop("demo", "petri", env={"PYTHONPATH": str(tmp_path)})
    check_refused(done, "pip install 'hotloop[petri]'")


def test_an_installed_demo_runs_in_a_copy_that_can_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside the package it would be a library's code, whose phases are not recognized."""
    package = tmp_path / "site-packages" / "hotloop"
    program = package / "workloads" / "snake_dqn"
    program.mkdir(parents=True)
    (program / "train.py").write_text("print()\n")
    monkeypatch.setattr(demo, "__file__", str(package / "cli" / "demo.py"))
    monkeypatch.chdir(tmp_path)
    folder = demo.program_folder("snake_dqn")
    assert folder == Path("runs/demo/snake_dqn")
    (folder / "train.py").write_text("print(1)\n")
    assert (demo.program_folder("snake_dqn") / "train.py").read_text() == "print(1)\n"
