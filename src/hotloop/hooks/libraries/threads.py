"""Waiting for other threads: queues, events, futures, pools.

`queue.Queue`, `threading.Event`, `concurrent.futures` and the results of `multiprocessing.Pool` all
wait for a condition. With a future or a pool, the wait is for another process.
"""

from __future__ import annotations

from _thread import get_ident

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target
from hotloop.hooks.wrapping import timed

#: Phases that keep their waiting: a logger that waits for its own thread is logging.
_WAIT_THEMSELVES = ("log", "checkpoint", "import")


def library(context: HookContext) -> Library:
    """The table of threading."""
    order, is_open, main = context.order, context.core.is_open, get_ident()

    def is_elsewhere(*_: object, **__: object) -> bool:
        # Threads that only wait would use up the few that get a tree of their own.
        return get_ident() not in (main, order.thread) or is_open(*_WAIT_THEMSELVES)

    waits = timed(context, "wait", unless=is_elsewhere)
    return Library(
        "threading",
        "",
        targets=tuple(
            Target("threading", name, "wait", wrapper=waits)
            for name in ("Condition.wait", "Thread.join")
        ),
    )
