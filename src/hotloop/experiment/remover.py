"""Removes a folder of copies when the process that made them ends, even if it was killed.

A separate program, started by path and without hotloop. It waits until its standard input is
closed, which the system does when the parent dies. Then it ends every process that still runs in
the folder (Linux) and deletes the folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator

#: A program in the folder gets this long to end before it is killed.
PATIENCE_S = 10.0
#: Give up after this long: a network file system may keep files that are open elsewhere.
GIVE_UP_S = 30.0
PAUSE_S = 0.1


def main(folder: str) -> None:
    sys.stdin.buffer.read()
    begin = time.monotonic()
    signaled: set[int] = set()
    while True:
        late = time.monotonic() - begin > PATIENCE_S
        running = list(processes_in(folder))
        for pid in running:
            if late or pid not in signaled:
                signaled.add(pid)
                _send(pid, getattr(signal, "SIGKILL", signal.SIGTERM) if late else signal.SIGTERM)
        if not running:
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                return
        if time.monotonic() - begin > GIVE_UP_S:
            return
        time.sleep(PAUSE_S)


def processes_in(folder: str) -> Iterator[int]:
    """Processes that work in a folder or below it."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    real = os.path.realpath(folder)
    for name in filter(str.isdigit, names):
        try:
            works_in = os.readlink(f"/proc/{name}/cwd").removesuffix(" (deleted)")
        except OSError:
            continue  # it has ended, or belongs to another user
        if works_in == real or works_in.startswith(real + os.sep):
            yield int(name)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has ended


if __name__ == "__main__":
    main(sys.argv[1])
