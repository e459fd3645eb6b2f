"""Many forked children that end normally: none crashes, and none loses a step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from real_runs import Hotloop

CHILDREN, CHILDREN_FULL, STEPS = 50, 500, 7

PROGRAM = """\
import multiprocessing, os, sys, threading, time
from hotloop import count, profile

how, children = sys.argv[1], int(sys.argv[2])

def work():
    for _ in range(7):
        with profile("env.step"):
            pass
        count("env_steps")

def fork():
    child = os.fork()
    if child:
        return lambda: os.waitpid(child, 0)[1]
    work()
    if how == "os._exit":
        os._exit(0)
    sys.exit(0)

def start():
    if how != "multiprocessing":
        return fork()
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    def wait():
        worker.join()
        return worker.exitcode
    return wait

# Beside a thread that computes, so that a fork finds the interpreter in every state.
busy = threading.Thread(target=lambda: [sum(range(1000)) for _ in range(10**9)], daemon=True)
if how == "multiprocessing":
    busy.start()
ends = []
waiting = []
for _ in range(children):
    waiting.append(start())
    if len(waiting) == 4:
        ends += [wait() for wait in waiting]
        waiting = []
ends += [wait() for wait in waiting]
print(sum(end != 0 for end in ends), "of", len(ends), "did not end normally")
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize("how", ["multiprocessing", "os._exit", "sys.exit"])
def test_none_crashes_or_loses_a_step(
    how: str, hotloop: Hotloop, tmp_path: Path, full: bool, say: Callable[[str], None]
) -> None:
    children = CHILDREN_FULL if full else CHILDREN
    (tmp_path / "program.py").write_text(PROGRAM)
    done = hotloop("run", "-q", "-o", "cap", "program.py", how, str(children), timeout=600)
    assert done.stdout == f"0 of {children} did not end normally\n", done.stderr
    assert (done.returncode, done.stderr) == (0, "")
    steps, ended = 0, 0
    for shard in (tmp_path / "cap").glob("*-*.jsonl"):
        for line in map(json.loads, shard.read_text().splitlines()):
            steps += line.get("c", {}).get("env_steps", 0)
            ended += "e" in line
    assert (ended, steps) == (children, children * STEPS)
    say(f"{children} forked children that end by {how}: no crash, no step lost")
