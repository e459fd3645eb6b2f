"""Watching a run for waiting."""

from __future__ import annotations

import os
import subprocess
import sys

from hotloop.analyze.processes.contention import contention
from hotloop.run.watch import Watch


def test_watching_sees_a_process_wait_or_says_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", "sum(range(3_000_000))"])
    watch = Watch(process.pid)
    process.wait()
    observed = watch.stop()
    if not os.path.exists("/proc/self/schedstat"):
        assert not observed.marks
        return
    assert len(observed.marks) >= 1
    assert 0.0 <= contention(**vars(observed)).due_to_others <= 1.0
    assert [waited for _, waited in observed.marks] == sorted(w for _, w in observed.marks)
