"""Every way a program can end, and the capture that it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_runs import LOOP, Hotloop, report


def start(tmp_path: Path, tail: str, *options: str) -> subprocess.Popen[str]:
    script = tmp_path / "train.py"
    script.write_text(LOOP + tail)
    return subprocess.Popen(
        [sys.executable, "-m", "hotloop", "run", *options, "-o", "cap", str(script)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell lets what it starts in the background ignore Ctrl-C; this program must hear it.
        preexec_fn=_hear_ctrl_c if os.name == "posix" else None,
    )


def _hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for_windows(tmp_path: Path, count: int) -> None:
    """Until the capture has that many windows: what a person watching would wait for."""
    shard = tmp_path / "cap" / "main.jsonl"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if shard.exists() and shard.read_bytes().count(b'\n{"w"') >= count:
            return
        time.sleep(0.05)
    raise AssertionError("no windows came")


@pytest.mark.skipif(os.name == "nt", reason="signals are Unix's")
class TestSignals:
    @pytest.mark.real_time
    def test_kill_leaves_all_but_the_last_window(self, hotloop: Hotloop, tmp_path: Path) -> None:
        process = start(tmp_path, "train(10**9)\n", "-q")
        wait_for_windows(tmp_path, 5)
        process.kill()
        process.communicate()
        document = report(hotloop)
        assert document["run"]["loop_s"] >= 2.9
        assert not document["run"]["finished"]
        assert "up to its last window" in hotloop("report", "cap").stdout

    def test_ctrl_c_reaches_the_program(self, hotloop: Hotloop, tmp_path: Path) -> None:
        process = start(tmp_path, "train(10**9)\n")
        wait_for_windows(tmp_path, 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert process.returncode == -signal.SIGINT
        assert out == "finally ran\n"
        assert "KeyboardInterrupt" in err
        assert "hotloop/measure" not in err
        assert "Next: hotloop open" in err
        assert report(hotloop)["run"]["exit"]["reason"] == "KeyboardInterrupt"

    def test_sigterm_leaves_all_but_the_last_window(self, hotloop: Hotloop, tmp_path: Path) -> None:
        process = start(tmp_path, "train(10**9)\n", "-q")
        wait_for_windows(tmp_path, 3)
        process.terminate()
        process.communicate()
        assert process.returncode == -signal.SIGTERM
        document = report(hotloop)
        assert document["run"]["loop_s"] >= 0.9
        assert document["run"]["env_steps"] > 0

    def test_a_programs_own_sigterm_handler_is_its_own(
        self, hotloop: Hotloop, tmp_path: Path
    ) -> None:
        tail = (
            "import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\ntrain(10**9)\n"
        )
        process = start(tmp_path, tail, "-q")
        wait_for_windows(tmp_path, 2)
        process.terminate()
        out, _ = process.communicate()
        assert (process.returncode, out) == (9, "finally ran\n")
        assert report(hotloop)["run"]["exit"] == {"reason": "exit", "code": 9}


def test_what_the_program_calls_at_its_exit_is_not_compared(
    hotloop: Hotloop, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(
        "import atexit\n"
        "class Closing:\n"
        "    def __call__(self):\n"
        "        print('closing')\n"
        "    def __eq__(self, other):\n"
        "        print('compared')\n"
        "        raise RuntimeError\n"
        "atexit.register(Closing())\n"
    )
    run = hotloop("run", "-q", "-o", "cap", "train.py")
    assert (run.returncode, run.stdout, run.stderr) == (0, "closing\n", "")


def test_os_exit_finishes_the_capture(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "import os\ntrain(20)\nsys.stdout.flush()\nos._exit(7)\n")
    done = hotloop("run", "-q", "-o", "cap", str(script))
    assert done.returncode == 7
    document = report(hotloop)
    assert document["run"]["exit"] == {"reason": "os._exit", "code": 7}
    assert document["run"]["env_steps"] == 40


def test_output_is_flushed_when_a_script_ends(tmp_path: Path) -> None:
    """As Python does, before `atexit`; nothing else would flush it after `os._exit`."""
    script = tmp_path / "train.py"
    script.write_text("import atexit, os\natexit.register(os._exit, 5)\nprint('kept')\n")
    ended = subprocess.run(
        [sys.executable, "-m", "hotloop", "run", "-q", "-o", tmp_path / "cap", script],
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (5, "kept\n", "")


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be deleted")
def test_a_script_beside_a_deleted_working_folder(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')\n")
    deleted = tmp_path / "deleted"
    deleted.mkdir()
    command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", str(tmp_path / "cap")]
    ended = subprocess.run(
        ["sh", "-c", 'rmdir ../deleted; exec "$@" ../train.py', "sh", *command],
        cwd=deleted,
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ran\n", "")
