"""One run in a process of its own, whatever becomes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from launches import launch

from hotloop.experiment.here import Job, do
from hotloop.experiment.launch import (
    end,
    identity,
    interruptible,
    last_lines,
    read_outcome,
    run,
)
from hotloop.experiment.measured import RunFailedError, measured


def test_a_run_leaves_a_capture_an_output_and_an_outcome(program: Path) -> None:
    made = launch(program, "train.py", stop_after="20steps")
    outcome = run(made)
    assert (outcome.failure, outcome.code) == ("", 0)
    result = measured(outcome, made)
    assert 20 <= result.series.reached("env_steps") <= 22
    assert read_outcome(made) == replace(outcome, last_lines=[])


def test_a_run_that_was_made_is_not_made_again(program: Path) -> None:
    made = launch(program, "train.py --steps 5")
    first = do(Job(0, (made,)))[0]
    assert do(Job(0, (made,)))[0].seconds == first.seconds
    # Another command, or another cut, is another run.
    assert read_outcome(launch(program, "train.py --steps 6")) is None
    assert read_outcome(launch(program, "train.py --steps 5", stop_after="3steps")) is None


def test_a_program_that_fails_says_how(program: Path) -> None:
    made = launch(program, "train.py --fail")
    outcome = run(made)
    assert outcome.failure == "failed with exit code 1"
    assert outcome.last_lines[-1] == "RuntimeError: loss is nan"
    with pytest.raises(RunFailedError, match="loss is nan"):
        measured(outcome, made)
    assert read_outcome(made) is None  # it may be tried again
    again = run(made, again=True)
    assert again.retried
    assert (program / "out" / "first.try-1").is_dir()  # what the first try left is kept


def test_a_program_that_never_reaches_a_step(tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text("print('nothing to learn')")
    made = launch(tmp_path, "idle.py")
    with pytest.raises(RunFailedError, match="never reached a step") as error:
        measured(run(made), made)
    assert "nothing to learn" in str(error.value)


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    outcome = run(launch(tmp_path, "/no/such/python train.py"))
    assert outcome.failure.startswith("cannot start")


def test_a_program_that_takes_too_long(program: Path) -> None:
    outcome = run(launch(program, "train.py --steps 100000", timeout_s=1.5))
    assert outcome.failure == "did not end within 1.5 s (--timeout)"


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_ending_a_program_ends_its_children(tmp_path: Path) -> None:
    child = "import time; time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process = subprocess.Popen([sys.executable, "-c", parent], start_new_session=True)
    while not _children(process.pid):
        time.sleep(0.05)
    (grandchild,) = _children(process.pid)
    assert end(process) == -signal.SIGTERM
    for _ in range(100):
        if not os.path.exists(f"/proc/{grandchild}") or _is_zombie(grandchild):
            break
        time.sleep(0.05)
    else:
        pytest.fail("the child lives on")


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("no /proc here")
    return [int(word) for word in path.read_text().split()]


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_ctrl_c_ends_the_work_and_a_sigterm_too() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def terminated() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    assert interruptible(interrupted)
    assert interruptible(terminated)
    assert not interruptible(lambda: None)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_the_last_lines_of_a_long_output(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x\n" * 100_000 + b"\xff broken\n\nlast\n")
    assert last_lines(log, 2) == ["\ufffd broken", "last"]
    assert last_lines(tmp_path / "missing") == []


def test_runs_that_differ_only_in_a_masked_word_are_two_runs(tmp_path: Path) -> None:
    base = launch(tmp_path, "-c pass")
    few, many = (
        replace(base, command=base.command.with_arguments((f"--n-pass={n}",))) for n in (2, 64)
    )
    assert identity(few) != identity(many)
    assert identity(few) == identity(replace(few))
    assert "--n-pass" not in identity(few)


def test_what_a_run_leaves_is_private(tmp_path: Path) -> None:
    made = launch(tmp_path, "-c pass")
    run(made)
    for path in (made.log, made.outcome):
        assert path.stat().st_mode & 0o077 == 0
    assert Path(made.capture).parent.stat().st_mode & 0o077 == 0
    assert Path(made.capture).stat().st_mode & 0o077 == 0
    assert all(each.stat().st_mode & 0o077 == 0 for each in Path(made.capture).iterdir())
