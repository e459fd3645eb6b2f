"""multiprocessing: waiting for the other process, separated from moving the data.

Vector environments in processes of their own (`SubprocVecEnv`, `AsyncVectorEnv`, `ParallelEnv`)
communicate through pipes; data loaders and actor-learner programs through queues, locks and
barriers. The same table serves both ends.
"""

from __future__ import annotations

import functools
import os
import select

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Foreign, Function, Region, Undo
from hotloop.hooks.redirect import replace
from hotloop.hooks.wrapping import count_bytes, dispatch, guarded, observe
from hotloop.measure.core import Core

_CONNECTION = "multiprocessing.connection"
_PROCESS = "multiprocessing.process"
_QUEUES = "multiprocessing.queues"
_POSIX = os.name == "posix"  # elsewhere the wait is inside the read itself


def library(context: HookContext) -> Library:
    """The table of multiprocessing."""
    core = context.core

    def receive(original: Function) -> Function:
        until_readable = core.region("wait").wrap(_until_readable, outermost=True)
        will_read = guarded(context, "multiprocessing: what a call reads", _will_read)
        read = core.region("transfer").wrap(original)

        @functools.wraps(original)
        def recv(self: Foreign, *args: Foreign, **kwargs: Foreign) -> object:
            if not core.enabled or not will_read(self, *args, **kwargs):
                return original(self, *args, **kwargs)
            until_readable(self.fileno())
            return read(self, *args, **kwargs)

        return recv

    wait = core.region("wait")

    def poll(_: object, timeout: float | None = 0.0) -> Region | None:
        # A poll that does not block belongs to the code that polls.
        return None if timeout == 0.0 else wait

    def get(_: object, block: object = True, timeout: object = None) -> Region | None:
        # Without a timeout, the queue waits in `SemLock.__enter__` and `recv_bytes`.
        return None if block is False or timeout is None else wait

    def put(
        queue: Foreign, obj: object, block: object = True, timeout: object = None
    ) -> Region | None:
        return wait if block is not False and queue._sem._semlock._is_zero() else None

    def begin_process(*_: object, **__: object) -> None:
        # A forked child never returns to the code that started it.
        core.leave_all()

    received = receive if _POSIX else None
    waits_if = functools.partial(dispatch, context, outermost=True)
    begun = observe(context, before=begin_process)
    counted = count_bytes(context, schema.PIPE_MESSAGES, schema.PIPE_BYTES, _message_size)
    return Library(
        "multiprocessing",
        "",
        targets=(
            Target(_CONNECTION, "_ConnectionBase.recv", "wait", wrapper=received),
            # What a queue reads with.
            Target(_CONNECTION, "_ConnectionBase.recv_bytes", "wait", wrapper=received),
            Target(_CONNECTION, "_ConnectionBase.poll", "wait", wrapper=waits_if(poll)),
            Target(_CONNECTION, "_ConnectionBase.send", "transfer"),
            # What a queue and the workers of a pool write with.
            Target(_CONNECTION, "_ConnectionBase.send_bytes", "transfer"),
            # `with` around a lock, a semaphore or a condition. `lock.acquire()` is not timed: each
            # lock has a bound method of its own, and a hook on that would keep the lock alive.
            once("_multiprocessing", "SemLock.__enter__", "wait", optional=True),
            # Events, barriers and `JoinableQueue.join` wait here too.
            once("multiprocessing.synchronize", "Condition.wait", "wait", optional=True),
            Target(_QUEUES, "Queue.get", "wait", wrapper=waits_if(get), optional=True),
            Target(_QUEUES, "Queue.put", "wait", wrapper=waits_if(put), optional=True),
            Target(_QUEUES, "JoinableQueue.put", "wait", wrapper=waits_if(put), optional=True),
            Target(_PROCESS, "BaseProcess._bootstrap", "", wrapper=begun, optional=True),
            # A program whose training runs in its children does nothing else.
            Target(_PROCESS, "BaseProcess.join", "wait", optional=True),
            Target(
                _CONNECTION, "Connection._recv_bytes", "transfer", wrapper=counted, optional=True
            ),
        ),
        setup=functools.partial(_time_unpickling, core),
    )


def _time_unpickling(core: Core) -> Undo:
    """Queues unpickle outside of their connection's methods.

    The class's `loads` is `pickle.loads`: hooked in place, every use of pickle would be.
    """
    from multiprocessing.reduction import ForkingPickler

    unpickle = core.region("transfer").wrap(ForkingPickler.loads, outermost=True)
    return replace(ForkingPickler, "loads", lambda _: staticmethod(unpickle))


def _message_size(message: Foreign, *_: object) -> int:
    """Pickled observations show in the size of the messages."""
    return int(message.getbuffer().nbytes)


def _will_read(connection: Foreign, maxlength: int | None = None, *_: object, **__: object) -> bool:
    """Whether the call reads; one with wrong arguments raises at once."""
    wrong = connection.closed or not connection.readable
    return not wrong and (maxlength is None or maxlength >= 0)


def _until_readable(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
