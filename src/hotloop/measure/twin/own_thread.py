"""The counterpart of `native/own_thread.c`, with a Python thread."""

from __future__ import annotations

import _thread
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hotloop.measure.own_threads import NAME_PREFIX
from hotloop.measure.unpatched import open_file

#: Raised by the thread itself as it crashes: blocking these would only hide the crash from
#: `faulthandler`.
_CRASHES = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"}

#: How long its start waits until it has its name: a fork counts threads by name.
_LONGEST_START_S = 1.0


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Start threads in here: they inherit a mask that blocks every signal for the program."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    blocked = {s for s in signal.valid_signals() if getattr(s, "name", "") not in _CRASHES}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class OwnThread:
    """A thread that calls a function now and then."""

    def __init__(self, step: Callable[[], float | None]) -> None:
        self._step = step
        self._wake = _taken_lock()
        self._alive = _thread.allocate_lock()

    def start(self, first_s: float) -> None:
        self._alive.acquire()
        named = _taken_lock()
        try:
            with signals_blocked():
                _thread.start_new_thread(self._main, (first_s, named))
        except RuntimeError:
            self._alive.release()
            raise
        named.acquire(timeout=_LONGEST_START_S)

    def wake(self) -> None:
        """Let it call `step` now, or again if it is in it."""
        try:
            self._wake.release()
        except RuntimeError:  # it has been woken already
            pass

    def join(self, timeout_s: float) -> bool:
        """Wait for its end; return whether it came before the timeout."""
        if not self._alive.acquire(timeout=timeout_s):
            return False
        self._alive.release()
        return True

    def _main(self, pause: float | None, named: _thread.LockType) -> None:
        _name_thread()
        named.release()
        while pause is not None:
            longest = min(max(pause, 0.0), threading.TIMEOUT_MAX)
            self._wake.acquire(timeout=-1 if math.isinf(pause) else longest)
            pause = self._step()
        self._alive.release()


def _taken_lock() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


def _name_thread() -> None:
    """Name this thread for the system's tools; Linux only."""
    try:
        with open_file(
            f"/proc/self/task/{_thread.get_native_id()}/comm", "w", encoding="ascii"
        ) as name:
            name.write(f"{NAME_PREFIX}thread")
    except OSError:
        pass
