"""multiprocessing's pipes and queues: who waits for whom."""

from __future__ import annotations

import pytest
from conftest import Profile

QUEUES = """
import multiprocessing, time

def work(queue):
    for i in range(20):
        time.sleep(0.03)
        queue.put([float(i)] * 1000)

if __name__ == "__main__":
    queue = multiprocessing.{kind}()
    worker = multiprocessing.Process(target=work, args=(queue,))
    worker.start()
    rows = [queue.get() for _ in range(20)]
    worker.join()
    print(len(rows), rows[7][0])
"""


@pytest.mark.parametrize("kind", ["Queue", "SimpleQueue"])
def test_a_queue_that_is_waited_for(profile: Profile, kind: str) -> None:
    run = profile(QUEUES.replace("{kind}", kind))
    assert run.out.strip() == "20 7.0"
    phases = {p["path"]: p for p in run.report["phases"] if p["process"] == "main"}
    assert phases["wait"]["calls"] >= 20
    assert phases["wait"]["total_s"] > 0.3
    assert phases["transfer"]["calls"] >= 20
