"""Looks at a running program from outside: how long its main thread waits for a core.

A few times a second, a small file of /proc is read. Where there is no /proc nothing is known, and
nothing is taken out of any figure.
"""

from __future__ import annotations

import os
import threading
import time

from hotloop.analyze.contention import Contention, share_due_to_others

INTERVAL_S = 0.1


class Watch:
    """Watches one process until it is told to stop; without a number, its own."""

    def __init__(self, pid: int | None = None) -> None:
        self._file = f"/proc/{pid or os.getpid()}/schedstat"
        self._itself = pid is None
        self._marks: list[tuple[float, float]] = []
        self._main_s = self._main_before = 0.0
        self._machine = _machine_seconds()
        self._tree = _tree_seconds(self._itself)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hotloop-watch", daemon=True)
        if self._look():
            self._main_before = self._main_s if self._itself else 0.0
            self._thread.start()

    def stop(self) -> Contention:
        """What was seen; the process has ended and been waited for."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()
        if not self._marks or self._machine is None:
            return Contention()
        machine_s = (_machine_seconds() or self._machine) - self._machine
        tree_s = _tree_seconds(self._itself) - self._tree
        main_s = self._main_s - self._main_before
        share = share_due_to_others(main_s, tree_s, machine_s, _usable_share())
        return Contention(self._marks, share)

    def _run(self) -> None:
        while not self._done.wait(INTERVAL_S):
            if not self._look():
                return

    def _look(self) -> bool:
        try:
            with open(self._file) as file:
                ran, waited, _ = file.read().split()
            self._marks.append((time.time(), int(waited) / 1e9))
            self._main_s = int(ran) / 1e9
        except (OSError, ValueError):
            return False
        return True


def _machine_seconds() -> float | None:
    """Processor time of everything on this machine since it started."""
    try:
        with open("/proc/stat") as file:
            user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None


def _tree_seconds(itself: bool) -> float:
    """Processor time of all children of this process that have ended, theirs included."""
    times = os.times()
    own = times.user + times.system if itself else 0.0
    return own + times.children_user + times.children_system


def _usable_share() -> float:
    try:
        return len(os.sched_getaffinity(0)) / (os.cpu_count() or 1)
    except AttributeError:
        return 1.0
