"""Waiting for other threads: queues, events, futures, pools.

`queue.Queue`, `threading.Event`, `concurrent.futures` and the results of `multiprocessing.Pool` all
wait in a condition. Behind a future or a pool, the one that is waited for is another process.
"""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target
from hotloop.hooks.wrapping import timed

#: Phases whose waiting is theirs: a logger that waits for its own thread is logging.
_WAIT_THEMSELVES = ("log", "checkpoint", "import")


def library(context: HookContext) -> Library:
    """The table of threading."""
    waits = timed(context, "wait", unless=_WAIT_THEMSELVES)
    return Library(
        "threading",
        "",
        targets=tuple(
            Target("threading", name, "wait", wrapper=waits)
            for name in ("Condition.wait", "Thread.join")
        ),
    )
