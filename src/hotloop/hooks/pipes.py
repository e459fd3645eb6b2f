"""multiprocessing's pipes: waiting for the other end told apart from moving the data.

Vector environments in processes of their own (`SubprocVecEnv`, `AsyncVectorEnv`, `ParallelEnv`)
talk through these, so the same table serves the parent, which waits for its workers, and the
workers, which wait for orders.
"""

from __future__ import annotations

import functools
import os
import select
from collections.abc import Callable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks.table import Library, Place


def _receive(original: Callable[..., Any]) -> Callable[..., Any]:
    core = get_profiler().core
    wait, transfer = core.region("wait"), core.region("transfer")

    @functools.wraps(original)
    def recv(self: Any, *arguments: Any, **named: Any) -> Any:
        if not core.enabled or not _will_read(self, *arguments, **named):
            return original(self, *arguments, **named)
        wait.enter()
        try:
            _until_readable(self.fileno())
        finally:
            wait.exit()
        transfer.enter()
        try:
            return original(self, *arguments, **named)
        finally:
            transfer.exit()

    return recv


def _count_bytes(original: Callable[..., Any]) -> Callable[..., Any]:
    """How large the messages are: pickled observations are known by that."""
    count = get_profiler().core.count

    def recv_bytes(self: Any, *arguments: Any) -> Any:
        message = original(self, *arguments)
        count("pipe_messages", 1)
        count("pipe_bytes", message.getbuffer().nbytes)
        return message

    return recv_bytes


def _will_read(connection: Any, maxlength: int | None = None, *_: Any, **__: Any) -> bool:
    """Whether the call reads; one that is wrong raises at once."""
    wrong = connection.closed or not connection.readable
    return not wrong and (maxlength is None or maxlength >= 0)


def _until_readable(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()


_POSIX = os.name == "posix"  # elsewhere the wait is inside the read itself

LIBRARY = Library(
    "multiprocessing",
    "",
    places=(
        Place(
            "multiprocessing.connection",
            "_ConnectionBase.recv",
            "wait",
            wrapper=_receive if _POSIX else None,
        ),
        # A queue reads so.
        Place(
            "multiprocessing.connection",
            "_ConnectionBase.recv_bytes",
            "wait",
            wrapper=_receive if _POSIX else None,
        ),
        Place("multiprocessing.connection", "_ConnectionBase.send", "transfer"),
        # A program whose training is in its children does nothing else.
        Place("multiprocessing.process", "BaseProcess.join", "wait", optional=True),
        Place(
            "multiprocessing.connection",
            "Connection._recv_bytes",
            "transfer",
            wrapper=_count_bytes,
            optional=True,
        ),
    ),
)
