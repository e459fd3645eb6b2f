"""Threads that the program never meets."""

from __future__ import annotations

import logging
import signal
import threading

import pytest

from hotloop.measure import threads
from hotloop.measure.threads import (
    Flag,
    OwnThread,
    in_own_thread,
    signals_blocked,
    stay_unregistered,
    unnamed_threads,
)


def test_it_is_in_no_list() -> None:
    before = threading.enumerate()
    seen: list[object] = []
    go_on = threading.Event()

    def run() -> None:
        seen.append(in_own_thread())
        seen.append(thread.is_current)
        go_on.wait(10)

    thread = OwnThread(run)
    thread.start()
    assert threading.enumerate() == before
    assert not thread.join(0.01)
    assert not thread.is_current
    assert not in_own_thread()
    go_on.set()
    assert thread.join(10)
    assert seen == [True, True]


def test_it_is_known_before_it_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(threads, "_name_thread", lambda: go_on.wait(10))
    before = unnamed_threads()
    thread = OwnThread(lambda: None)
    thread.start()
    assert unnamed_threads() == before + 1
    monkeypatch.setattr(threads.os, "getpid", lambda: -1)  # a forked child has none of them
    assert unnamed_threads() == 0
    monkeypatch.undo()
    go_on.set()
    assert thread.join(10)
    assert unnamed_threads() == before


def test_a_registration_by_what_it_calls_is_undone() -> None:
    before = threading.enumerate()
    registered: list[int] = []

    def run() -> None:
        logging.getLogger("test").warning("quiet")
        threading.current_thread()
        registered.append(threading.active_count())
        stay_unregistered()
        registered.append(threading.active_count())
        threading.current_thread()

    thread = OwnThread(run)
    thread.start()
    assert thread.join(10)
    assert registered == [len(before) + 1, len(before)]
    assert threading.enumerate() == before


def test_an_error_ends_it_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    thread = OwnThread(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    thread.start()
    assert thread.join(10)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")
def test_it_blocks_signals_and_the_starter_does_not() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    masks: list[set[int]] = []
    thread = OwnThread(lambda: masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ())))  # type: ignore[arg-type]
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
