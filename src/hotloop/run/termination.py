"""Writes the last window of a process that SIGTERM ends, if there is time for it.

See `measure/native/termination.c`: Python reports no handler, and a process that is computing dies
at once and loses its last window.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from hotloop.measure.core import Core, native_parts
from hotloop.measure.own_threads import OwnThread, in_own_thread

#: How long a process that is ending continues after SIGTERM, and the wait for this thread's end.
LONGEST_END_S = 1.0


class Termination:
    """Waits for SIGTERM in a separate thread, then calls `finish`."""

    def __init__(self, core: Core, finish: Callable[[], None]) -> None:
        self._native = native_parts(core)
        self._finish = finish
        self._thread: OwnThread | None = None
        #: The capture is being closed; SIGTERM came while it was; it is closed.
        self._deferred = self._waited = self._ended = False

    def begin(self) -> None:
        """Prepare for SIGTERM; a program with a handler of its own is left alone."""
        in_main = threading.get_ident() == threading.main_thread().ident
        if self._native is None or not in_main:
            return
        thread = OwnThread(self._step, math.inf)
        if self._native.begin_termination(thread.native):
            self._thread = thread
            thread.start()

    def defer(self) -> None:
        """The capture is being closed: SIGTERM takes effect once it is, or a second later."""
        if self._thread is not None:
            self._deferred = True
            self._native.defer_termination()

    def end(self) -> None:
        """Stop waiting for SIGTERM: the capture is closed."""
        if self._thread is not None:
            self._ended = True
            self._native.end_termination()
            if not in_own_thread():
                self._thread.join(LONGEST_END_S)
            self._thread = None

    def _step(self) -> float | None:
        """Called when SIGTERM arrives, or when the capture is closed."""
        if self._ended or not self._native.is_terminated():
            return None if self._ended else math.inf
        if self._deferred and not self._waited:
            self._waited = True
            return LONGEST_END_S
        try:
            if not self._deferred:
                self._finish()
        finally:
            self._native.end_termination()
        return None
