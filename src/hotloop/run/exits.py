"""Finishes the capture of a process at each of its exits.

A normal end and `os._exit` finish it. For SIGTERM, see `termination`. If any other signal kills the
process, the last window is lost, and the reader treats the shard without an end as killed.
"""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from hotloop.measure.core import Core
from hotloop.run.current import current_session
from hotloop.run.forks import hush_forks


class Exits:
    """Finishes the current session when the process exits, until it is released."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []
        self._at_exit = False

    def watch(self, core: Core) -> None:
        """Finish the current session at exit and at `os._exit`."""
        # Registered before the program's own, so it runs after them. A forked child inherits it.
        atexit.register(self._end)
        self._undo.append(self._unregister)
        self._watch_immediate_exit(core)
        self._undo += hush_forks(core)

    def share(self, core: Core, folders: list[Path]) -> None:
        """Let the program make folders that exist only because hotloop has made them."""
        from hotloop.run.own_folders import share

        self._undo.append(share(core, folders))

    def release(self) -> None:
        """Restore all exits: the process continues without a session."""
        while self._undo:
            self._undo.pop()()

    def _end(self) -> None:
        """Finish, and release the program's functions: Python now frees the program's objects.

        What is still referred to then is never finalized: a file would not be flushed.
        """
        self._at_exit = True
        self._finish()
        try:
            current = current_session()
            if current is not None:
                current.leave()
                current.at_the_very_end()
        except Exception:
            pass

    def _unregister(self) -> None:
        """Not at the exit itself: each function that the program has registered is compared."""
        if not self._at_exit:
            atexit.unregister(self._end)

    def _finish(self, **end: Any) -> None:
        try:
            current = current_session()
            if current is not None:
                current.finish(**end)
        except Exception:
            pass  # an error here must not keep the program from exiting

    def _watch_immediate_exit(self, core: Core) -> None:
        """`os._exit` runs no `atexit` function; the object that the program has stays the same."""
        from hotloop.hooks.redirect import redirect

        self._undo.append(redirect(core, os, "_exit", self._finishing))

    def _finishing(self, leave: Callable[..., NoReturn]) -> Callable[..., NoReturn]:
        @functools.wraps(leave)
        def exit_now(*args: Any, **kwargs: Any) -> NoReturn:
            status = args[0] if args else kwargs.get("status")
            try:
                if isinstance(status, int):  # anything else raises, and the program continues
                    self._finish(reason="os._exit", code=status)
            finally:
                leave(*args, **kwargs)

        return exit_now
