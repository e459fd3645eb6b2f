"""Killed anywhere: every capture reads, and at most the last window of each process is missing.

The program writes down for itself, in memory that outlives it, when each of its steps was. What
the capture says must be all of that up to the end of its last window, and that must be a window
ago at the most.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from hotloop.analyze.processes.training import read_capture
from hotloop.cli import main as command
from hotloop.run.recorder import WINDOW_SECONDS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes of Unix")

PROGRAM = '''
import mmap, multiprocessing, os, struct, time
from hotloop import count, profile

class Diary:
    """When each step was, in a file that is memory: it stays whatever kills the process."""
    def __init__(self):
        with open(f"diary-{os.getpid()}", "w+b") as file:
            file.truncate(8 * 100_000)
            self.memory = mmap.mmap(file.fileno(), 0)
        self.steps = 0
    def step(self):
        struct.pack_into("Q", self.memory, 8 * self.steps, time.perf_counter_ns())
        self.steps += 1

def worker(pipe, parent):
    diary = Diary()
    while os.getppid() == parent:
        if not pipe.poll(0.2):
            continue
        try:
            if pipe.recv() is None:
                return
            with profile("env.step"):
                time.sleep(0.002)
            count("env_steps")
            diary.step()
            pipe.send("done")
        except (EOFError, OSError):
            return

context = multiprocessing.get_context("fork")
diary = Diary()
workers = []
for number in range(2):
    ours, theirs = context.Pipe()
    process = context.Process(target=worker, args=(theirs, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    workers.append(ours)
print("pids", os.getpid(), *(p.pid for p in multiprocessing.active_children()), flush=True)
end = time.monotonic() + 3.3
try:
    while time.monotonic() < end:
        with profile("collect"), profile("env.step"):
            for pipe in workers:
                pipe.send("step")
            for pipe in workers:
                while not pipe.poll(0.5):
                    pass
                pipe.recv()
        count("env_steps")
        diary.step()
    for pipe in workers:
        pipe.send(None)
except (EOFError, OSError):
    pass  # a worker was killed
'''

#: From the start of Python to after the program's end.
SPREAD_S = 4.4
#: How late the recorder's thread may be on a machine that does other things as well.
LATE_S = 0.6
AT_ONCE = 6


@dataclass
class Killed:
    """One run, and what was found of it."""

    folder: Path
    victims: str
    at_s: float
    killed_ns: int = 0
    pids: list[int] = field(default_factory=list)
    out: str = ""
    err: str = ""


def kill_one(folder: Path, victims: str, at_s: float) -> Killed:
    """Run the program and kill all of it, its main process or a worker after some seconds."""
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM)
    run = Killed(folder, victims, at_s)
    process = subprocess.Popen(
        [sys.executable, "-m", "hotloop", "run", "-q", "--trace", "-o", "cap", "train.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(at_s)
    workers = [int(path.name[6:]) for path in folder.glob("diary-*")]
    workers = [pid for pid in workers if pid != process.pid]
    run.killed_ns = time.perf_counter_ns()
    with contextlib.suppress(ProcessLookupError):  # it had ended by itself
        if victims == "all":
            os.killpg(process.pid, signal.SIGKILL)
        elif victims == "worker" and workers:
            os.kill(workers[0], signal.SIGKILL)
        else:
            os.kill(process.pid, signal.SIGKILL)
    run.out, run.err = process.communicate(timeout=60)
    return run


def steps_of(folder: Path) -> dict[int, list[int]]:
    """Process -> when each of its steps was, by its own account."""
    steps = {}
    for path in folder.glob("diary-*"):
        if path.stat().st_size == 0:
            continue
        with (
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory,
        ):
            stamps = memoryview(memory[:]).cast("Q").tolist()
        steps[int(path.name[6:])] = stamps[: stamps.index(0)]
    return steps


def read_it(folder: Path) -> str:
    """What `hotloop report` prints; its code must be 0."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert command(["report", str(folder / "cap")]) == 0, err.getvalue()
        trace = str(folder / "run.perfetto.json")
        code = command(["export", str(folder / "cap"), "-o", trace])
    # No single call may have been kept yet; then the command says so.
    assert code == 0 or "Traceback" not in err.getvalue()
    return out.getvalue()


def check(run: Killed, seen: Counter[str]) -> None:
    steps = steps_of(run.folder)
    shard = run.folder / "cap" / "main.jsonl"
    if not shard.exists() or b"\n" not in shard.read_bytes():
        assert not any(steps.values()), f"steps, and no capture of them: {run}"
        seen["before there was a capture"] += 1
        return
    assert "Traceback" not in run.err, run.err
    assert read_it(run.folder)
    seen["read"] += 1
    capture = read_capture(run.folder / "cap")
    assert capture.damaged <= len(steps)  # the line that each was writing
    shards = {each.header.pid: each for each in capture.shards}
    for pid, stamps in steps.items():
        windows = shards[pid].windows if pid in shards else []
        ended = pid in shards and shards[pid].end is not None
        origin = shards[pid].header.origin_ns or 0 if pid in shards else 0
        counted = sum(window.counters.get("env_steps", 0) for window in windows)
        assert all(a.last + 1 == b.first for a, b in pairwise(windows))
        if ended:
            assert counted == len(stamps), f"{run}: an orderly end, and {counted} of {len(stamps)}"
            seen["processes that ended in order"] += 1
            continue
        last_ns = origin + windows[-1].end_ns if windows else 0
        known = [stamp for stamp in stamps if stamp <= last_ns]
        # The window may close between a step's counter and its line in the diary.
        assert abs(counted - len(known)) <= 1, f"{run}: {counted} of {len(known)} up to the window"
        missing = stamps[len(known) :]
        if missing:
            # A process that the machine let wait could not close its window either.
            waits = [b - a for a, b in pairwise(stamps)]
            lost_s = (missing[-1] - missing[0]) / 1e9
            allowed = WINDOW_SECONDS + LATE_S + max([0, *waits]) / 1e9
            assert lost_s <= allowed, f"{run}: {lost_s:.2f} s of {pid} are missing"
        seen["processes killed"] += 1
        seen["steps"] += len(stamps)
        seen["steps in the last window, not in the capture"] += len(missing)


def test_killed_at_any_moment(tmp_path: Path, full: bool, say) -> None:
    kills = 200 if full else 6
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    # Spread over start-up, loop and end, not only at random: each part gets its share.
    moments = [SPREAD_S * (n + chance.random()) / kills for n in range(kills)]
    jobs = [
        (tmp_path / f"run-{n}", chance.choice(["all", "all", "main", "worker"]), moment)
        for n, moment in enumerate(moments)
    ]
    chance.shuffle(jobs)
    seen: Counter[str] = Counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = list(pool.map(lambda job: kill_one(*job), jobs))
    for run in runs:
        check(run, seen)
    assert seen["read"] + seen["before there was a capture"] == kills
    assert seen["read"] >= kills * 0.6
    assert seen["processes killed"] > 0
    say(
        f"{kills} kills (seed {seed}): {seen['read']} captures read, "
        f"{seen['before there was a capture']} came before there was one; of "
        f"{seen['processes killed']} killed processes at most the last window is missing "
        f"({seen['steps in the last window, not in the capture']:,} of {seen['steps']:,} steps), "
        f"of {seen['processes that ended in order']} others nothing"
    )
