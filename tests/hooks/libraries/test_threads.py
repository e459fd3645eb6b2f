"""Waiting for threads, futures and pools."""

from __future__ import annotations

import pytest
from profiling import Profile

PROGRAM = """
import queue, sys, threading, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool
from hotloop import profile

def rollout(steps):
    for _ in range(steps):
        with profile("env.step"):
            time.sleep(0.002)
    return steps

def futures():
    with ProcessPoolExecutor(2) as pool:
        return sum(sum(pool.map(rollout, [20, 20])) for _ in learn())

def pool():
    with Pool(2) as workers:
        return sum(sum(workers.map(rollout, [20, 20])) for _ in learn())

def thread():
    ready = queue.Queue()
    def fill():
        for _ in range(5):
            time.sleep(0.05)
            ready.put(40)
    threading.Thread(target=fill).start()
    return sum(ready.get() for _ in learn())

def learn():
    for _ in range(5):
        yield
        with profile("learn.backward"):
            time.sleep(0.001)

if __name__ == "__main__":
    print({"futures": futures, "pool": pool, "thread": thread}[sys.argv[1]]())
"""


@pytest.mark.real_time
@pytest.mark.parametrize("kind", ["futures", "pool", "thread"])
def test_the_loop_waits(profile: Profile, kind: str) -> None:
    run = profile(PROGRAM, kind)
    assert run.out.strip() == "200"
    waits = [p for p in run.report["phases"] if p["path"] == "wait" and p["process"] == "main"]
    assert waits[0]["total_s"] > 0.1
    if kind == "futures":  # a pool ends its workers with a signal, within the first second here
        names = [row["name"] for row in run.report["run_table"][:1]]
        assert names == ["env.step"]
