"""Threads that the program never meets."""

from __future__ import annotations

import _thread
import contextlib
import faulthandler
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hotloop.measure.core import NATIVE
from hotloop.measure.own_threads import (
    NAME_PREFIX,
    Flag,
    OwnThread,
    in_own_thread,
)
from hotloop.measure.twin.own_thread import OwnThread as TwinThread
from hotloop.measure.twin.own_thread import signals_blocked


@pytest.fixture(params=["native", "twin"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[OwnThread]:
    if request.param == "twin":
        monkeypatch.setattr("hotloop.measure.core.make_own_thread", TwinThread)
    elif not NATIVE:
        pytest.skip("no native core")
    return OwnThread


def test_it_is_in_no_list(make: type[OwnThread]) -> None:
    before = threading.enumerate()
    seen: list[object] = []
    go_on = threading.Event()

    def run() -> None:
        seen.append(in_own_thread())
        seen.append(thread.is_current)
        go_on.wait(10)

    thread = make(run)
    thread.start()
    assert threading.enumerate() == before
    assert not thread.join(0.01)
    assert not thread.is_current
    assert not in_own_thread()
    go_on.set()
    assert thread.join(10)
    assert seen == [True, True]


def test_its_steps_and_pauses(make: type[OwnThread]) -> None:
    pauses: list[float | None] = [0.0, 0.001, math.inf, -1.0, None]
    times: list[float] = []
    forever = threading.Event()

    def step() -> float | None:
        times.append(time.monotonic())
        pause = pauses[len(times) - 1]
        if pause == math.inf:
            forever.set()
        return pause

    begun = time.monotonic()
    thread = make(step, 0.05)
    thread.start()
    assert forever.wait(60)
    assert not thread.join(0.05)
    thread.wake()
    thread.wake()
    assert thread.join(60)
    assert len(times) == len(pauses)
    assert times[0] - begun >= 0.05
    assert not thread.is_current


def test_it_is_woken_before_its_time(make: type[OwnThread]) -> None:
    ran = threading.Event()
    thread = make(ran.set, math.inf)
    thread.start()
    assert not ran.wait(0.05)
    thread.wake()
    assert thread.join(60)
    assert ran.is_set()


@pytest.mark.skipif(not NATIVE, reason="the twin's is a thread of Python's")
def test_while_it_waits_python_does_not_know_of_it(tmp_path: Path) -> None:
    begun = threading.Event()
    before = set(sys._current_frames()), _thread._count()

    def step() -> float | None:
        if begun.is_set():
            return None
        begun.set()
        return math.inf

    thread = OwnThread(step)
    thread.start()
    assert begun.wait(60)
    with (tmp_path / "threads").open("w+") as file:
        end = time.monotonic() + 60
        while set(sys._current_frames()) != before[0] and time.monotonic() < end:
            pass  # on its way to the lock
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        assert file.read().count("hread 0x") == len(before[0])
    assert (set(sys._current_frames()), _thread._count()) == before
    thread.wake()
    assert thread.join(60)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have names on Linux")
def test_it_has_its_name_once_it_is_started(make: type[OwnThread]) -> None:
    before = names()
    thread = make(lambda: None, math.inf)
    thread.start()
    assert len(names()) == len(before) + 1
    thread.wake()
    assert thread.join(10)


def names() -> list[str]:
    """The threads of this process that have the name of hotloop's."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found.append((task / "comm").read_text().strip())
    return [name for name in found if name.startswith(NAME_PREFIX)]


def test_a_registration_by_what_it_calls_is_undone(make: type[OwnThread]) -> None:
    before = threading.enumerate()
    registered: list[int] = []

    def step() -> float | None:
        registered.append(threading.active_count())
        logging.getLogger("test").warning("quiet")
        threading.current_thread()
        registered.append(threading.active_count())
        return 0.0 if len(registered) == 2 else None

    thread = make(step)
    thread.start()
    assert thread.join(10)
    assert registered == [len(before), len(before) + 1] * 2
    assert threading.enumerate() == before


def test_an_error_ends_it_quietly(
    make: type[OwnThread], capsys: pytest.CaptureFixture[str]
) -> None:
    thread = make(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    thread.start()
    assert thread.join(10)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not NATIVE, reason="the twin's is made anew each time")
def test_it_is_started_once() -> None:
    thread = OwnThread(lambda: None)
    thread.start()
    assert thread.join(10)
    with pytest.raises(RuntimeError, match="once"):
        thread.start()


FORKS = """
import os, signal, sys
from hotloop.measure.own_threads import OwnThread

def hangs(number, frame):
    os.kill(child, signal.SIGKILL)

signal.signal(signal.SIGALRM, hangs)
for _ in range(3):
    OwnThread(lambda: 0.0).start()
for _ in range(150):
    child = os.fork()
    if child == 0:
        thread = OwnThread(lambda: None)
        thread.start()
        os._exit(not thread.join(10))
    signal.alarm(20)
    if os.waitpid(child, 0)[1]:
        sys.exit("a child did not return from its fork, or has no threads")
    signal.alarm(0)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_returns_whatever_these_threads_are_doing() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")
def test_it_blocks_signals_and_the_starter_does_not(make: type[OwnThread]) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    masks: list[set[int]] = []
    thread = make(lambda: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ())))  # type: ignore[arg-type]
    thread.start()
    thread.join(10)
    assert {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP} <= masks[0]
    assert signal.SIGSEGV not in masks[0]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")
def test_an_error_inside_restores_the_mask() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with pytest.raises(KeyError), signals_blocked():
        raise KeyError
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_a_flag_stays_set_until_it_is_cleared() -> None:
    flag = Flag()
    assert not flag.wait(0)
    flag.set()
    flag.set()
    assert flag.wait(0)
    assert flag.wait(10)
    flag.clear()
    flag.clear()
    assert not flag.wait(0)
