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

from hotloop.experiment.command import parse_command
from hotloop.experiment.here import Here, Job, do
from hotloop.experiment.launch import (
    Launch,
    end,
    interruptible,
    last_lines,
    read_outcome,
    run,
)
from hotloop.experiment.measured import RunFailedError, measured, pair_figures
from hotloop.experiment.watch import Watch


def launch(folder: Path, text: str, **more: object) -> Launch:
    command = replace(parse_command(text), folder=str(folder))
    return Launch("first", command, str(folder / "out" / "first"), **more)  # type: ignore[arg-type]


def test_a_run_leaves_a_capture_an_output_and_an_outcome(program: Path) -> None:
    made = launch(program, "train.py", stop_after="20steps")
    outcome = run(made)
    assert (outcome.failure, outcome.code) == ("", 0)
    result = measured(outcome, made)
    assert 20 <= result.course.reached("env_steps") <= 22
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


def test_a_job_ends_at_its_first_failure_unless_it_goes_on(program: Path) -> None:
    bad = launch(program, "train.py --fail")
    good = replace(launch(program, "train.py --steps 3"), capture=str(program / "out" / "second"))
    assert len(do(Job(0, (bad, good)))) == 1
    assert [bool(o.failure) for o in do(Job(0, (bad, good), goes_on=True))] == [True, False]
    assert [len(outcomes) for _, outcomes in Here().outcomes([Job(0, (bad, good))])] == [1]


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


def test_runs_that_count_different_things(program: Path) -> None:
    (program / "other.py").write_text(
        "from hotloop import count, profile\nwith profile('learn'): count('iterations', 5)\n"
    )
    sides = []
    for index, text in enumerate(("train.py --steps 3 --updates 0", "other.py")):
        made = replace(launch(program, text), capture=str(program / "out" / str(index)))
        sides.append(measured(run(made), made))
    with pytest.raises(Exception, match="count different things"):
        pair_figures(*sides)


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


def test_watching_sees_a_process_wait_or_says_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", "sum(range(3_000_000))"])
    watch = Watch(process.pid)
    process.wait()
    contention = watch.stop()
    if not os.path.exists("/proc/self/schedstat"):
        assert not contention.marks
        return
    assert len(contention.marks) >= 1
    assert 0.0 <= contention.due_to_others <= 1.0
    assert [waited for _, waited in contention.marks] == sorted(w for _, w in contention.marks)
