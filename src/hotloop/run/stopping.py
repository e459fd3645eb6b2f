"""Ends training early, without an edit: `--stop-after 60s | 5000steps | 2episodes`.

Seconds count from the first training step: how long imports take depends on the machine.
`60s-total` counts from the start of the program.

It raises SystemExit in the program's own thread, so that `finally` blocks and `atexit` functions
run as after `sys.exit()`. A main thread that waits in a system call is woken by a signal that is
not used otherwise. Limits that the main process counts are exact; those counted by other processes
(workers with their own environments) take effect a second or two later (`counting`).
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from hotloop.capture import schema
from hotloop.errors import HotloopError
from hotloop.measure.own_threads import in_own_thread
from hotloop.run.counting import Counting

_UNITS = {
    "s": ("seconds", 1.0),
    "sec": ("seconds", 1.0),
    "seconds": ("seconds", 1.0),
    "m": ("seconds", 60.0),
    "min": ("seconds", 60.0),
    "minutes": ("seconds", 60.0),
    "h": ("seconds", 3600.0),
    "hours": ("seconds", 3600.0),
    "step": (schema.ENV_STEPS, 1.0),
    "steps": (schema.ENV_STEPS, 1.0),
    "episode": (schema.EPISODES, 1.0),
    "episodes": (schema.EPISODES, 1.0),
    "iteration": (schema.ITERATIONS, 1.0),
    "iterations": (schema.ITERATIONS, 1.0),
}

#: A program that catches the stop gets it again, a few times.
_MOST_TRIES = 5
_RETRY_SECONDS = 5.0

#: How much longer than its limit a program runs if no training step is recognized.
UNRECOGNISED_SECONDS = 60.0
#: How often a waiting thread checks whether the program has ended or its training has begun.
_LONGEST_SLEEP = 0.5

#: A program that has counted nothing after this time may never do so.
HINT_SECONDS = 60.0


class StopTraining(SystemExit):
    """The exception that ends the program, with exit code 0."""


@dataclass(frozen=True)
class StopAfter:
    """When to stop: a number of seconds, or a value of a counter."""

    what: str
    amount: float
    #: Seconds count from the start of the program, not from the first training step.
    in_total: bool = False

    def __str__(self) -> str:
        if self.what == "seconds":
            return f"{self.amount:g} s" + (" in total" if self.in_total else "")
        return f"{self.amount:g} {self.what.replace('_', ' ')}"


def parse_stop_after(text: str) -> StopAfter:
    """`60s`, `2m`, `60s-total`, `5000steps`, `2episodes`, `10iterations`."""
    match = re.fullmatch(r"\s*(\d+(?:[._]\d+)*)\s*([a-z]+)(-total)?\s*", text.lower())
    unit = _UNITS.get(match[2]) if match else None
    if match is None or unit is None or (match[3] and unit[0] != "seconds"):
        raise HotloopError(
            f"--stop-after {text}: not understood; write 60s, 2m, 60s-total, 5000steps, 2episodes "
            "or 10iterations"
        )
    amount = float(match[1].replace("_", "")) * unit[1]
    if amount <= 0:
        raise HotloopError(f"--stop-after {text}: must be above 0")
    return StopAfter(unit[0], amount, in_total=bool(match[3]))


def parse_time(option: str, text: str) -> float:
    """The seconds that an option gives: `90s`, `10m`."""
    try:
        limit = parse_stop_after(text)
    except HotloopError:
        limit = None
    if limit is None or limit.what != "seconds":
        raise HotloopError(f"{option} {text}: a time, such as 90s or 10m")
    return limit.amount


def _is_free(handler: object) -> bool:
    """Whether a signal has no handler but that of an earlier run in this process."""
    return handler == signal.SIG_DFL or getattr(handler, "__func__", None) is Stopper._wake


def end_children() -> None:
    """End the processes that the program would wait for at its exit, forever."""
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes is not None else ():
        if not child.daemon:
            child.terminate()


class Stopper:
    """Raises `StopTraining` when the limit is reached; made in the main thread."""

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float] = monotonic,
        is_open: Callable[[str], bool] = lambda region: False,
    ):
        self._say = say
        self._clock = clock
        #: Whether the calling thread is inside a region.
        self._is_open = is_open
        #: Whether the main thread was inside a compiler when it was last asked.
        self._compiles = False
        self._pid = os.getpid()
        self._main = threading.main_thread().ident
        self._thread: int | None = None
        self._tried = 0
        self._tried_at = 0.0
        self.asked = False
        self._began: float | None = None
        #: Ignored by default; if the program handles it, it is not used.
        self._signal: int | None = getattr(signal, "SIGURG", None)
        if (
            self._signal is not None
            and threading.get_ident() == self._main
            and _is_free(signal.getsignal(self._signal))
        ):
            signal.signal(self._signal, self._wake)

    def stop(self) -> None:
        """Ask the thread that counts (and so trains) to end, and the main thread."""
        self.asked = True
        self._thread = self._main if in_own_thread() else threading.get_ident()
        self._raise()

    def training_began(self) -> None:
        """The first training step: seconds count from here."""
        if self._began is None:
            self._began = self._clock()

    def watch_training(self, folder: Path) -> Callable[[], None]:
        """A function to call once a second, if other processes may be the ones that train."""
        counting = Counting(folder)

        def check() -> None:
            if self._began is None and counting.others() and counting.trains():
                self.training_began()

        return check

    def stop_in(self, limit: StopAfter, is_over: Callable[[], bool]) -> Callable[[], float | None]:
        """Called by a thread to stop the program when the seconds of a limit are over."""
        started = self._clock()

        def step() -> float | None:
            if is_over():
                return None
            left = self._due(limit, started) - self._clock()
            if left > 0:
                return min(left, _LONGEST_SLEEP)
            if self._began is None and not limit.in_total:
                self._say(
                    f"no training step was recognized within {self._clock() - started:.0f} s: "
                    "stopping"
                )
            self.stop()
            return None

        return step

    def _due(self, limit: StopAfter, started: float) -> float:
        """When to stop, as known so far: the first training step may move it."""
        if limit.in_total:
            return started + limit.amount
        if self._began is not None:
            return self._began + limit.amount
        return started + limit.amount + UNRECOGNISED_SECONDS

    def watch_counter(self, folder: Path, limit: StopAfter) -> Callable[[], None]:
        """A function to call once a second, if other processes may do the counted work."""
        counting = Counting(folder)
        hint_at = self._clock() + HINT_SECONDS
        hinted = False

        def check() -> None:
            nonlocal hinted
            if self.asked:
                return
            late = not hinted and self._clock() >= hint_at
            if not late and not counting.others():
                return  # the main process counts for itself, and exactly
            total = counting.total(limit.what)
            if total >= limit.amount:
                self.stop()
            elif late:
                hinted = True
                if not total:
                    self._say(
                        f"no {limit.what.replace('_', ' ')} were counted so far in any process: "
                        "--stop-after may never end this run; a time such as 60s would"
                    )

        return check

    def check(self) -> None:
        """Stop the program again if it caught the exception; called about once a second."""
        patience = 0.0 if self._compiles else _RETRY_SECONDS
        if not self.asked or self._clock() - self._tried_at < patience:
            return
        if self._tried < _MOST_TRIES:
            self._raise()
        elif self._tried == _MOST_TRIES:
            self._tried += 1
            self._say("the program catches SystemExit and continues; --stop-after cannot end it")

    def _raise(self) -> None:
        self._tried += 1
        self._tried_at = self._clock()
        import ctypes  # most runs are not stopped early

        wakes = self._signal is not None and signal.getsignal(self._signal) == self._wake
        threads = {self._main, self._thread}
        # A program may block the signal, so it is not enough from the second try on.
        if wakes and (self._tried == 1 or self._compiles):
            threads.discard(self._main)
        for thread in threads:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread or 0), ctypes.py_object(StopTraining)
            )
        if self._signal is not None and wakes:
            signal.pthread_kill(self._main or 0, self._signal)

    def _wake(self, number: int, frame: object) -> None:
        """Runs in the main thread, also while that waits in C.

        XLA continues a compilation whose wait was interrupted, and crashes if the process ends
        meanwhile. So the program ends after a compilation: `check` tries again. The signal may
        also be somebody else's, as in a forked child.
        """
        if not self.asked or os.getpid() != self._pid:
            return
        self._compiles = self._is_open("compile")
        if not self._compiles:
            raise StopTraining
        self._tried = 0
