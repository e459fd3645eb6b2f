"""Every way in which a process can end, so that its capture is finished whichever it takes."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.measure.session import Session


class Ends:
    """Stands at the ends of a process for a session, until it is let go."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._undo: list[Callable[[], None]] = []

    def catch(self) -> None:
        """Finish the session at exit, at `os._exit` and at SIGTERM."""
        # Registered before the program's own, so it runs after them.
        atexit.register(self._session.finish)
        self._undo.append(lambda: atexit.unregister(self._session.finish))
        self._catch_exit()
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        ):
            signal.signal(signal.SIGTERM, self._on_sigterm)
            self._undo.append(self._let_sigterm_go)

    def let_go(self) -> None:
        """The process goes on without the session: each end is again what it was."""
        while self._undo:
            self._undo.pop()()

    def _catch_exit(self) -> None:
        leave = os._exit

        def exit_now(status: int) -> None:
            current = type(self._session).current
            if current is not None:
                current.finish(reason="os._exit", code=status)
            leave(status)

        def undo() -> None:
            if placed is os._exit:
                os._exit = leave

        placed: Any = exit_now
        os._exit = placed
        self._undo.append(undo)

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        # As without hotloop: the process dies of the signal, at once, and says so to its parent.
        current = type(self._session).current or self._session
        current.finish(reason="SIGTERM")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    def _let_sigterm_go(self) -> None:
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) == self._on_sigterm
        ):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
