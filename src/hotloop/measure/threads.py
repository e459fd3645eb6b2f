"""hotloop's own threads, which the program does not see.

They are not in `threading.enumerate()`, so a program that joins every thread, or waits until it is
the only one, behaves as without hotloop. They block signals, so a signal that the program has
blocked (to take it with `sigwait`) is never delivered to one of them, which would end the process.
While they wait (`Alarm`) they have no frames, so `sys._current_frames()` does not list them;
debuggers and `faulthandler` do.

Code that runs in them must not call `threading.current_thread()`, which would register them: that
includes `logging` and `threading.Thread`.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hotloop.measure.unpatched import open_file

#: Raised by the thread itself as it crashes: blocking these would only hide the crash from
#: `faulthandler`.
_CRASHES = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"}

#: What the system calls these threads, the sampler's (`native/sampler.c`) among them.
NAME_PREFIX = "hotloop-"

#: Started, but not yet called that, with the process they are of: the system gives a new thread the
#: name of the one that starts it.
_unnamed: dict[OwnThread, int] = {}

#: Marks each of these threads for itself: a forked child has none of them.
_local = threading.local()


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


class Alarm:
    """What one of these threads waits for, without a frame on its stack."""

    def __init__(self) -> None:
        from hotloop.measure.core import run_at_bottom  # the core's twin has a thread, too

        self._run_at_bottom = run_at_bottom
        self._lock = _thread.allocate_lock()
        self._lock.acquire()

    def set(self) -> None:
        """Wake the thread, now or as soon as it waits."""
        try:
            self._lock.release()
        except RuntimeError:  # it is set already
            pass

    def wait(self, timeout_s: float) -> None:
        """Return when it is set, which this resets, or after the timeout."""
        self._run_at_bottom(self._lock.acquire, True, max(timeout_s, 0.0))


class Flag:
    """An event for these threads: `threading.Event` waits in a condition, which is hooked."""

    def __init__(self) -> None:
        self._unset = _thread.allocate_lock()
        self.clear()

    def set(self) -> None:
        self._release()

    def _release(self) -> None:
        try:
            self._unset.release()
        except RuntimeError:  # it is set already
            pass

    def clear(self) -> None:
        self._unset.acquire(blocking=False)

    def wait(self, timeout_s: float) -> bool:
        """Return whether it is set, at once or before the timeout."""
        if not self._unset.acquire(timeout=max(timeout_s, 0.0)):
            return False
        self._release()
        return True


class OwnThread:
    """A thread that calls `run` once."""

    def __init__(self, run: Callable[[], None]) -> None:
        self._run = run
        self._ident = 0
        self._ended = _thread.allocate_lock()

    def start(self) -> None:
        self._ended.acquire()
        _unnamed[self] = os.getpid()
        try:
            with signals_blocked():
                self._ident = _thread.start_new_thread(self._main, ())
        except BaseException:
            if not self._ident:
                _unnamed.pop(self, None)
                self._ended.release()
            raise

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of the thread; return whether it came before the timeout."""
        if not self._ended.acquire(timeout=timeout_s):
            return False
        self._ended.release()
        return True

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return self._ident == _thread.get_ident() and self._ended.locked()

    def _main(self) -> None:
        from hotloop.measure.core import hide_thread  # the core's twin has a thread, too

        self._ident = _thread.get_ident()
        _local.is_own = True
        hide_thread()
        _name_thread()
        _unnamed.pop(self, None)
        try:
            self._run()
        except BaseException:
            pass  # there is no caller to raise to; `run` catches what must be reported
        finally:
            stay_unregistered()
            self._ended.release()


def _name_thread() -> None:
    """Name this thread for the system's tools; Linux only."""
    try:
        with open_file(
            f"/proc/self/task/{_thread.get_native_id()}/comm", "w", encoding="ascii"
        ) as name:
            name.write(f"{NAME_PREFIX}thread")
    except OSError:
        pass


def unnamed_threads() -> int:
    """How many of this process's own threads do not have their name yet."""
    return list(_unnamed.values()).count(os.getpid())


def in_own_thread() -> bool:
    """Whether the current thread is hotloop's, not the program's."""
    return getattr(_local, "is_own", False)


def stay_unregistered() -> None:
    """Undo a registration of the calling thread, if code that it called has made one."""
    active: dict[int, threading.Thread] = getattr(threading, "_active", {})
    active.pop(_thread.get_ident(), None)
