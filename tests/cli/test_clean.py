"""`hotloop clean`: deletes recorded runs, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded_folders import aged, experiment, record

from hotloop.cli import main
from hotloop.cli.selection import recordings


def test_clean_deletes_old_recordings_only_when_it_may(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "runs/hotloop/notes").mkdir()
    assert main(["clean", "--older-than", "7d", "-n"]) == 0
    assert main(["clean", "--older-than", "7d"]) == 2  # no terminal to ask on
    assert (here / "runs/hotloop/old").is_dir()
    assert main(["clean", "--older-than", "7d", "-y"]) == 0
    left = sorted(path.name for path in (here / "runs/hotloop").iterdir())
    assert left == ["new", "notes"]
    assert main(["clean", "--keep", "1", "-y"]) == 0
    assert (here / "runs/hotloop/new").is_dir()


def test_clean_leaves_what_may_be_in_progress(here: Path) -> None:
    record(here / "runs/hotloop/going", end=False)
    assert main(["clean", "--older-than", "0s", "-y"]) == 0
    assert [path.name for path in (here / "runs/hotloop").iterdir()] == ["going"]


def left_by_clean(here: Path) -> set[str]:
    assert main(["clean", "--older-than", "0s", "-y"]) == 0
    return {path.name for path in (here / "runs/hotloop").iterdir()}


def test_clean_deletes_only_what_hotloop_made(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = here / "runs/hotloop"
    (base / "trial").mkdir()  # as Ray Tune writes it
    (base / "trial/result.json").write_text('{"reward": 1.0, "config": {}}\n')
    aged(record(base / "project/runs/hotloop/a"), 30)
    (base / "project/train.py").write_text("")
    (base / "lines").mkdir()
    (base / "lines/main.jsonl").write_text('{"step": 1}\n')
    aged(record(base / "with-model"), 30)
    (base / "with-model/model.pt").write_text("")
    aged(record(base / "applied"), 30)
    (base / "applied/reverse.patch").write_text("--- a/train.py\n")
    kept = {"trial", "project", "lines", "with-model", "applied"}
    assert left_by_clean(here) == kept
    shown = capsys.readouterr().err
    assert "with-model is kept: it holds model.pt" in shown
    assert "applied is kept: it holds reverse.patch" in shown


@pytest.mark.skipif(os.name != "posix", reason="processes cannot be asked elsewhere")
def test_clean_leaves_experiments_that_run(here: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    base = here / "runs/hotloop"
    aged(experiment(base / "prove-running", "prove", os.getpid()), 30)
    aged(experiment(base / "prove-ended", "prove", ended.pid), 30)
    aged(experiment(base / "sweep-ended", "sweep", ended.pid), 30)
    experiment(base / "elsewhere", "sweep", ended.pid, "another machine")
    aged(experiment(base / "with-notes", "prove", ended.pid), 30)
    (base / "with-notes/pair-1/notes.txt").write_text("")
    found = {each.folder.name: (each.kind, each.state) for each in recordings(base)}
    assert found["prove-running"] == ("prove", "running")
    assert found["prove-ended"] == ("prove", "ended")
    assert found["sweep-ended"] == ("unfinished experiment", "ended")
    assert left_by_clean(here) == {"prove-running", "elsewhere", "with-notes"}
