"""A capture lies out of the program's way while it runs, and in `runs/hotloop` afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hotloop.run.settling import HIDDEN, collect, make_for_a_run, running_folders, settle

Hotloop = Callable[..., "subprocess.CompletedProcess[str]"]

SHOWS_AND_WAITS = "import os; print(os.listdir('.'), flush=True); input()"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def made(here: Path, name: str = "train-1") -> tuple[Path, Path]:
    base = here / "runs" / "hotloop"
    return make_for_a_run([base / name, base / f"{name}-2"])


def test_nothing_is_in_the_working_folder_before_the_end(here: Path) -> None:
    folder, place = made(here)
    (folder / "main.jsonl").write_text("{}")
    assert list(here.iterdir()) == []
    assert (folder.stat().st_mode & 0o777, place) == (0o700, here / "runs/hotloop/train-1")
    assert settle(folder, place) == place
    assert (place / "main.jsonl").read_text() == "{}"
    # A worker that outlives the run still writes to the folder it knows.
    (folder / "worker.jsonl").write_text("{}")
    assert (place / "worker.jsonl").exists()


def test_a_name_that_is_taken_meanwhile_gets_a_number(here: Path) -> None:
    folder, place = made(here)
    place.mkdir(parents=True)
    assert settle(folder, place).name == "train-1-2"


def test_runs_of_the_same_second_do_not_share_a_folder(here: Path) -> None:
    assert [made(here)[1].name for _ in range(2)] == ["train-1", "train-1-2"]


def test_a_capture_stays_where_its_place_cannot_be_made(here: Path) -> None:
    folder, place = made(here)
    (here / "runs").write_text("the program's")
    assert settle(folder, place) == folder
    assert folder.is_dir()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs a second file system")
def test_another_file_system_is_not_used(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.stat("/dev/shm").st_dev == here.stat().st_dev:
        pytest.skip("needs a second file system")
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/shm")
    folder, place = made(here)
    assert folder.parent == here / HIDDEN
    settle(folder, place)
    assert [path.name for path in here.iterdir()] == ["runs"]


def test_what_a_killed_run_left_is_collected(here: Path) -> None:
    (killed, _), (running, _) = made(here, "killed"), made(here, "running")
    base = here / "runs" / "hotloop"
    assert collect(here, base, lambda folder: folder == killed) == [running]
    assert (base / "killed").is_dir()
    assert collect(here.parent, base, lambda folder: True) == []


def test_working_folders_of_the_same_name_are_kept_apart(here: Path) -> None:
    (here / "work").mkdir()
    assert running_folders(here)[0] != running_folders(here / "work")[0]


def start(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hotloop", "run", *words], cwd=cwd, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_a_killed_run_is_found_by_the_next_command(here: Path, hotloop: Hotloop) -> None:
    run = start("-c", SHOWS_AND_WAITS, cwd=here)
    assert run.stdout is not None
    assert run.stdout.readline() == "[]\n"
    listed = hotloop("list", cwd=here)
    assert "[running]" in listed.stdout
    assert not (here / "runs").exists()
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert "[killed]" in hotloop("list", cwd=here).stdout
    assert len(list(here.glob("runs/hotloop/*/main.jsonl"))) == 1


@pytest.mark.parametrize(
    "ending", ["os._exit(0)", "os.kill(os.getpid(), 15)", "1/0", "sys.exit(3)"]
)
def test_whatever_ends_the_program_the_capture_has_its_place(
    here: Path, hotloop: Hotloop, ending: str
) -> None:
    hotloop("run", "-q", "-c", f"import os, sys, time\n{ending}\ntime.sleep(5)", cwd=here)
    assert len(list(here.glob("runs/hotloop/*/main.jsonl"))) == 1


def test_a_program_that_becomes_another_settles_at_its_end(here: Path, hotloop: Hotloop) -> None:
    becomes = "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(5)'])"
    assert hotloop("run", "-q", "-c", becomes, cwd=here).stdout == "5\n"
    assert len(list(here.glob("runs/hotloop/*/main.jsonl"))) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder in which nothing can be made")
def test_a_working_folder_that_is_read_only(here: Path, hotloop: Hotloop) -> None:
    done = hotloop("run", "-q", "-c", "print(1)", cwd="/proc")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert len(list(here.parent.glob("state/hotloop/running/*/*/main.jsonl"))) == 1
    assert len(hotloop("list", cwd="/proc").stdout.splitlines()) > 2


def test_a_working_folder_that_is_gone(tmp_path: Path, here: Path) -> None:
    shell = f"rmdir {here}; exec {sys.executable} -m hotloop run -q -c 'print(1)'"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
