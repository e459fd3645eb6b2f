"""Writes the last window of a process that SIGTERM ends, where there is time for it.

See `measure/native/termination.c`: Python reports no handler, and a process that computes dies at
once, with the loss of its last window.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from hotloop.measure.core import Core, native_parts, run_at_bottom
from hotloop.measure.threads import OwnThread, in_own_thread

#: The thread has nothing left to do once it is woken.
LONGEST_END_S = 1.0


class Termination:
    """Waits for SIGTERM in a separate thread, then calls `finish`."""

    def __init__(self, core: Core, finish: Callable[[], None]) -> None:
        self._native = native_parts(core)
        self._finish = finish
        self._thread: OwnThread | None = None

    def begin(self) -> None:
        """Prepare for SIGTERM; a program with a handler of its own is left alone."""
        in_main = threading.get_ident() == threading.main_thread().ident
        if self._native is not None and in_main and self._native.begin_termination():
            self._thread = OwnThread(self._wait)
            self._thread.start()

    def defer(self) -> None:
        """The capture is being closed: SIGTERM takes effect once it is."""
        if self._thread is not None:
            self._native.defer_termination()

    def end(self) -> None:
        """Stop waiting for SIGTERM: the capture is closed."""
        if self._thread is not None:
            self._native.end_termination()
            if not in_own_thread():
                self._thread.join(LONGEST_END_S)
            self._thread = None

    def _wait(self) -> None:
        run_at_bottom(self._native.await_termination)
        if self._native.is_terminated():
            try:
                self._finish()
            finally:
                self._native.end_termination()
