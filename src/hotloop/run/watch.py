"""Watches a process from outside: how long its main thread waits for a CPU core.

Reads a small file in /proc a few times per second. Without /proc, nothing is known.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import time as wall_clock

from hotloop.measure import machine
from hotloop.measure.own_threads import OwnThread

INTERVAL_S = 0.1
#: Its thread only has to wake up to end.
LONGEST_END_S = 5.0


@dataclass(frozen=True)
class Observed:
    """Observations of a process and of the machine around it."""

    #: (seconds since 1970, seconds that the main thread waited so far), in order.
    marks: list[tuple[float, float]] = field(default_factory=list)
    #: CPU time of the main thread, of the process with its children, and of the whole machine.
    main_s: float = 0.0
    tree_s: float = 0.0
    machine_s: float = 0.0
    #: The share of the machine's cores that the process may use.
    usable: float = 1.0


class Watch:
    """Watches one process until `stop`; without a number, the calling one."""

    def __init__(self, pid: int | None = None) -> None:
        self._file = f"/proc/{pid or os.getpid()}/schedstat"
        self._itself = pid is None
        self._marks: list[tuple[float, float]] = []
        self._main_s = self._main_before = 0.0
        self._machine = _machine_seconds()
        self._tree = _tree_seconds(self._itself)
        self._done = False
        self._thread: OwnThread | None = None
        if self._read():
            self._main_before = self._main_s if self._itself else 0.0
            self._thread = OwnThread(self._step, INTERVAL_S)
            self._thread.start()

    def stop(self) -> Observed:
        """Ends the watch and returns its observations, once the process has been waited for."""
        self._done = True
        if self._thread is not None:
            self._thread.wake()
            self._thread.join(LONGEST_END_S)
        if not self._marks or self._machine is None:
            return Observed()
        machine_s = (_machine_seconds() or self._machine) - self._machine
        tree_s = _tree_seconds(self._itself) - self._tree
        main_s = self._main_s - self._main_before
        usable = machine.affinity_cores() / (os.cpu_count() or 1)
        return Observed(self._marks, main_s, tree_s, machine_s, usable)

    def _step(self) -> float | None:
        return INTERVAL_S if not self._done and self._read() else None

    def _read(self) -> bool:
        try:
            with open(self._file, encoding="ascii") as file:
                ran, waited, _ = file.read().split()
            self._marks.append((wall_clock(), int(waited) / 1e9))
            self._main_s = int(ran) / 1e9
        except (OSError, ValueError):
            return False
        return True


def _machine_seconds() -> float | None:
    """CPU time of everything on this machine since it started."""
    ticks = machine.cpu_ticks()
    return ticks[0] / os.sysconf("SC_CLK_TCK") if ticks is not None else None


def _tree_seconds(itself: bool) -> float:
    """CPU time of all children of this process that have ended, theirs included."""
    times = os.times()
    own = times.user + times.system if itself else 0.0
    return own + times.children_user + times.children_system
