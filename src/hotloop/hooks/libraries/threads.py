"""Waiting for other threads: queues, events, futures, pools.

`queue.Queue`, `threading.Event`, `concurrent.futures` and the results of `multiprocessing.Pool` all
wait in a condition. Behind a future or a pool, the one that is waited for is another process.
"""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, once


def library(context: HookContext) -> Library:
    """The table of threading."""
    return Library(
        "threading",
        "",
        targets=(
            once("threading", "Condition.wait", "wait"),
            once("threading", "Thread.join", "wait"),
        ),
    )
