"""`--stop-after` in real runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from real_runs import LOOP, Hotloop, report

from hotloop.analyze.analysis import analyze
from hotloop.analyze.processes.training import read_capture


@pytest.mark.parametrize(
    ("limit", "steps"), [("100steps", 100), ("7episodes", 14), ("5iterations", 10)]
)
def test_stop_after_ends_the_training_exactly(
    hotloop: Hotloop, tmp_path: Path, limit: str, steps: int
) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "import atexit\natexit.register(print, 'atexit ran')\ntrain(10**9)\n")
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", limit, str(script))
    assert (done.returncode, done.stdout) == (0, "finally ran\natexit ran\n")
    assert report(hotloop)["run"]["env_steps"] == steps


def test_stop_after_a_time(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + "train(10**9)\n")
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", "1.5s-total", str(script))
    assert (done.returncode, done.stdout) == (0, "finally ran\n")
    assert report(hotloop)["run"]["wall_s"] >= 1.4


WAITS_FOR_A_TRAINER = """
import multiprocessing as mp, sys, threading, time
from hotloop import count, profile

def train():
    while True:
        with profile("env.step"):
            time.sleep(0.01)
        count("env_steps", 1)

if __name__ == "__main__":
    kind = mp.Process if sys.argv[1] == "process" else threading.Thread
    trainer = kind(target=train) if kind is mp.Process else kind(target=train, daemon=True)
    trainer.start()
    try:
        trainer.join()
    finally:
        print("finally ran")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a system call is interrupted by a signal")
@pytest.mark.parametrize("kind", ["process", "thread"])
def test_stop_after_ends_a_program_that_waits(hotloop: Hotloop, tmp_path: Path, kind: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(WAITS_FOR_A_TRAINER)
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", "3s-total", str(script), kind)
    assert (done.returncode, done.stdout) == (0, "finally ran\n"), done.stderr
    assert report(hotloop)["run"]["env_steps"] > 50


STEPS_IN_WORKERS = """
import multiprocessing as mp, time
from hotloop import count, profile

def train():
    for _ in range(10**9):
        with profile("env.step"):
            time.sleep(0.01)
        count("env_steps", 1)

if __name__ == "__main__":
    workers = [mp.Process(target=train) for _ in range(2)]
    for worker in workers: worker.start()
    try:
        for worker in workers: worker.join()
    finally:
        print("finally ran")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a system call is interrupted by a signal")
def test_stop_after_steps_of_other_processes(hotloop: Hotloop, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(STEPS_IN_WORKERS)
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", "150steps", str(script))
    assert (done.returncode, done.stdout) == (0, "finally ran\n"), done.stderr
    shards = read_capture(tmp_path / "cap").shards
    steps = sum(window.counters.get("env_steps", 0) for s in shards for window in s.windows)
    assert steps >= 150


@pytest.mark.skipif(sys.platform == "win32", reason="a system call is interrupted by a signal")
def test_stop_after_seconds_of_training_in_other_processes(
    hotloop: Hotloop, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(STEPS_IN_WORKERS)
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", "1s", str(script))
    assert (done.returncode, done.stdout) == (0, "finally ran\n"), done.stderr
    assert "no training step" not in done.stderr


@pytest.mark.parametrize(("steps", "reached"), [(50, False), (10**9, True)])
def test_a_stop_that_was_never_reached_is_none(
    hotloop: Hotloop, tmp_path: Path, steps: int, reached: bool
) -> None:
    script = tmp_path / "train.py"
    script.write_text(LOOP + f"train({steps})\n")
    hotloop("run", "-q", "-o", "cap", "--stop-after", "400steps", str(script))
    analysis = analyze(read_capture(tmp_path / "cap"))
    assert analysis.was_cut is reached


CATCHES = {
    "raises something else": """
    except BaseException as error:
        raise RuntimeError("the environment could not be made") from error
""",
    "hides where it came from": """
    except BaseException:
        failed = True
    if failed:
        raise ValueError("half made")
""",
    "leaves with a code": """
    except BaseException:
        sys.exit(3)
""",
    "cleans up and fails": """
    finally:
        undefined_name
""",
}


@pytest.mark.parametrize("how", CATCHES)
@pytest.mark.parametrize("limit", ["0.7s", "50steps"])
def test_a_stop_inside_code_that_catches_everything(
    how: str, limit: str, hotloop: Hotloop, tmp_path: Path
) -> None:
    """Such as a library's construction: nothing is wrong with the program."""
    (tmp_path / "train.py").write_text(
        "import sys, time\nfrom hotloop import count\ndef make():\n"
        "    try:\n        while True:\n            count('env_steps')\n"
        "            time.sleep(0.01)\n" + CATCHES[how].lstrip("\n") + "make()\n"
    )
    done = hotloop("run", "-q", "-o", "cap", "--stop-after", limit, "train.py")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr
    assert "--stop-after ended the program" in done.stderr
    assert report(hotloop)["run"]["exit"] == {"reason": "exit", "code": 0}
