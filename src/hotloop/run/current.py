"""The session of this process.

Exits and forks reach a process from outside any object, so they need one place to find
the session. It is the only state that a run keeps at module level.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotloop.run.session import Session


class _Current:
    session: Session | None = None
    watches_forks = False


_current = _Current()


def current_session() -> Session | None:
    """The session that measures this process, if any."""
    return _current.session


def set_current(session: Session | None) -> None:
    """Make this the session of the process."""
    _current.session = session


def replace_after_fork(make: Callable[[Session], Session]) -> None:
    """In every forked child: replace the parent's session by the one that `make` returns."""
    if _current.watches_forks or not hasattr(os, "register_at_fork"):
        return
    _current.watches_forks = True  # it cannot be unregistered

    def after_fork() -> None:
        parent = _current.session
        if parent is not None and not parent.finished:
            _current.session = make(parent)

    os.register_at_fork(after_in_child=after_fork)
