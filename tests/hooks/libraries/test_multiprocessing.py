"""multiprocessing's pipes and queues: who waits for whom."""

from __future__ import annotations

import pytest
from profiling import Profile

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


@pytest.mark.real_time
@pytest.mark.parametrize("kind", ["Queue", "SimpleQueue"])
def test_a_queue_that_is_waited_for(profile: Profile, kind: str) -> None:
    run = profile(QUEUES.replace("{kind}", kind))
    assert run.out.strip() == "20 7.0"
    phases = {p["path"]: p for p in run.report["phases"] if p["process"] == "main"}
    assert phases["wait"]["calls"] >= 20
    assert phases["wait"]["total_s"] > 0.3
    assert phases["transfer"]["calls"] >= 20
    # `Queue` writes in a thread, which has a row of its own.
    sent = [p for p in run.report["phases"] if p["process"] != "main" and p["name"] == "transfer"]
    assert sum(p["calls"] for p in sent) >= 20


WRONG = """
import multiprocessing

reader, writer = multiprocessing.Pipe(duplex=False)
for call in (lambda: reader.recv_bytes(-1), writer.recv_bytes, writer.recv):
    try:
        call()
    except (ValueError, OSError) as error:
        print(type(error).__name__)
writer.send_bytes(b"abc")
print(reader.recv_bytes(maxlength=9))
reader.close()
try:
    reader.recv_bytes()
except OSError as error:
    print(error)
"""


def test_a_wrong_call_fails_at_once(profile: Profile) -> None:
    expected = "ValueError\nOSError\nOSError\nb'abc'\nhandle is closed\n"
    assert profile(WRONG).out == expected


WAITS = """
import multiprocessing, queue, threading, types

def fails(call, error):
    try:
        call()
    except error:
        print(error.__name__)

condition, event = multiprocessing.Condition(), multiprocessing.Event()
with condition:
    condition.wait(timeout=0.05)
event.wait(0.05)
fails(lambda: multiprocessing.Barrier(2).wait(0.05), threading.BrokenBarrierError)
for kind in (multiprocessing.Queue, multiprocessing.JoinableQueue):
    full = kind(1)
    fails(lambda: full.get(timeout=0.05), queue.Empty)
    full.put(obj=1, timeout=1)
    fails(lambda: full.put(2, True, 0.05), queue.Full)
    fails(lambda: full.put(2, block=False), queue.Full)
    print(full.get())
lock = multiprocessing.Lock()
print(type(lock.acquire) is types.BuiltinMethodType, lock.acquire == lock._semlock.acquire)
"""


def test_conditions_events_barriers_and_full_queues_are_waits(profile: Profile) -> None:
    run = profile(WAITS)
    assert run.out.split() == [
        "BrokenBarrierError",
        *2 * ["Empty", "Full", "Full", "1"],
        *2 * ["True"],
    ]
    phases = {p["path"]: p for p in run.report["phases"]}
    assert phases["wait"]["total_s"] >= 7 * 0.05
    assert "wait/wait" not in phases
