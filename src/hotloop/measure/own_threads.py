"""hotloop's own threads, which the program does not see.

They are not in `threading.enumerate()`, so a program that joins every thread, or waits until it is
the only one, behaves as without hotloop. They block signals, so a signal that the program has
blocked (to take it with `sigwait`) is never delivered to one of them, which would end the process.
While they wait, Python does not know of them (`native/own_thread.c`): neither
`sys._current_frames()` nor `faulthandler` lists them.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

#: What the system calls these threads, the sampler's among them.
NAME_PREFIX = "hotloop-"

#: Marks each of these threads individually: a forked child has none of them.
_local = threading.local()


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
    """A thread that calls `step` after some seconds, and again after as many as that returns.

    It ends when `step` returns None. A function that is to run once needs no more than that.
    """

    def __init__(self, step: Callable[[], float | None], first_s: float = 0.0) -> None:
        from hotloop.measure.core import make_own_thread  # the core's twin has a thread, too

        self._step = step
        self._first_s = first_s
        self._ident = 0
        self.native = make_own_thread(self._call)

    def start(self) -> None:
        self.native.start(self._first_s)

    def wake(self) -> None:
        """Let it call `step` now, or once more if it is in it."""
        self.native.wake()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of the thread; return whether it came before the timeout."""
        return bool(self.native.join(timeout_s))

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread."""
        return in_own_thread() and self._ident == _thread.get_ident()

    def _call(self) -> float | None:
        _local.is_own = True  # each time: between its steps, Python does not know the thread
        self._ident = _thread.get_ident()
        pause = None
        try:
            pause = self._step()
        except BaseException:
            pass  # there is no caller to raise to; `step` catches what must be reported
        finally:
            _unregister()
            if pause is None:
                self._ident = 0
        return pause


def in_own_thread() -> bool:
    """Whether the current thread is hotloop's, not the program's."""
    return getattr(_local, "is_own", False)


def _unregister() -> None:
    """Undo a registration of the calling thread, if code that it called has made one."""
    active: dict[int, threading.Thread] = getattr(threading, "_active", {})
    active.pop(_thread.get_ident(), None)
