"""`hotloop prove` as users meet it: a real program, whose files stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_runs import Hotloop, check_refused

pytest.importorskip("scipy")
pytestmark = pytest.mark.programs

PROGRAM = """
import sqlite3, time
from hotloop import count, profile_function

db = sqlite3.connect("training.db")
db.execute("CREATE TABLE steps (step INTEGER)")

@profile_function("env.step")
def step():
    time.sleep(0.0002)
    count("env_steps")

for number in range(1000):
    step()
    db.execute("INSERT INTO steps VALUES (?)", (number,))
    db.commit()
db.close()
"""


def digest(folder: Path) -> dict[str, str]:
    """What is in a folder, but for what hotloop keeps of its own."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program and one capture of it."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", "capture", "train.py"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    (folder / "training.db").unlink()
    (folder / "notes.txt").write_text("the user's")
    return folder


@pytest.mark.real_time
def test_the_gain_is_measured_and_no_file_changes(
    hotloop: Hotloop, recorded: Path, tmp_path: Path
) -> None:
    before, capture = digest(recorded), str(recorded / "capture")
    options = ("--budget", "40s", "--format", "json", "--folder", "kept")
    result = hotloop("prove", capture, *options)
    assert result.returncode == 0, result.stderr
    assert digest(recorded) == before
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert not (tmp_path / "kept" / "scratch").exists()
    proof = json.loads(result.stdout)
    assert proof["schema"] == "hotloop.proof/1"
    tried = {each["fix"]: each for each in proof["tried"] if each["finding"] == "logging"}
    assert (tried["1/100 of the commits"]["gain"] or 0.0) > 1.2, json.dumps(tried)
    report = hotloop("report", capture, "--format", "json")
    finding = next(f for f in json.loads(report.stdout)["findings"] if f["id"] == "logging")
    proven = tried[finding["proof"]["fix"]]
    assert (finding["proof"]["pairs"], finding["measured_gain"]) == (
        proven["pairs"],
        proven["gain"],
    )


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the parent's death is reported only there"
)
def test_killed_in_the_middle_it_leaves_no_trace(recorded: Path, tmp_path: Path) -> None:
    before = digest(recorded)
    capture = str(recorded / "capture")
    command = [sys.executable, "-m", "hotloop", "prove", capture, "--folder", "kept"]
    proving = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    scratch = tmp_path / "kept" / "scratch"
    running = scratch / "run" / recorded.name / "training.db"
    while not running.exists():  # a run of the program has begun
        assert proving.poll() is None
        time.sleep(0.01)
    children = _children_of(proving.pid)
    proving.send_signal(signal.SIGKILL)
    proving.wait()
    assert children
    for child in children:
        while _is_running(child):
            time.sleep(0.01)
    while scratch.exists():
        time.sleep(0.01)
    assert digest(recorded) == before


def _children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ProcessLookupError):
        return False
    return state != "Z"


def test_what_is_wrong_is_said_before_anything_runs(hotloop: Hotloop, tmp_path: Path) -> None:
    for words, message in (
        (("--budget", "5steps"), "--budget 5steps: a time"),
        (("--",), "no program to run"),
        (("capture", "--", "train.py"), "a capture or a program, not both"),
        (("--", "missing.py"), "missing.py"),
    ):
        result = hotloop("prove", *words)
        check_refused(result, message)
