"""Which loops of a source only look until something has changed."""

from __future__ import annotations

import pytest
from profiling import Profile

from hotloop.hooks.program.polling import polling_lines, statements_of

SPINS = "while flag.value == 0:\n    pass\n"
TRIES = (
    "while True:\n    try:\n        item = q.get_nowait()\n        break\n"
    "    except queue.Empty:\n        time.sleep(0.001)\n"
)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (SPINS, [(1, 2)]),
        ("while any(flags[k] != DONE for k in range(n)): pass\n", [(1, 1)]),
        ("while not np.all(flags == 1):\n    time.sleep(1e-4)\n", [(1, 2)]),
        ("while (\n    flag[0] == 0\n    and go.is_set()\n):\n    pass\n", [(1, 5)]),
        # A counter, a deadline and a message change nothing.
        ("n = 0\nwhile a[k] != 0:\n    n += 1\n    if n > 9: time.sleep(0)\n", [(2, 4)]),
        ("while not done[0] and time.time() < end:\n    print('waiting')\n", [(1, 2)]),
        # What it looks at may be taken first, with or without a lock.
        (
            "while True:\n    ready = [i for i in range(n) if flag[i]]\n    if ready:\n"
            "        break\n    time.sleep(0.001)\n",
            [(1, 5)],
        ),
        (
            "while True:\n    with flag.get_lock():\n        if flag.value == 1:\n"
            "            return\n",
            [(1, 4)],
        ),
        (TRIES, [(1, 6)]),
        # Of a loop that also works, or that calls the program's own code, only the sleep.
        ("while go:\n    if not ready:\n        time.sleep(0.01)\n        continue\n    f()\n", [(3, 3)]),
        ("while not self.all_ready():\n    time.sleep(0.001)\n", [(2, 2)]),
        # Inside a function, after a string that contains code.
        ('text = """\nwhile x[0]:\n  pass\n"""\ndef f():\n    while not e.is_set(): pass\n', [(6, 6)]),
    ],
)  # fmt: skip
def test_loops_that_wait_for_others(source: str, lines: list[tuple[int, int]]) -> None:
    assert polling_lines(source) == lines


@pytest.mark.parametrize(
    "source",
    [
        # They get somewhere by themselves.
        "while node.next is not None:\n    node = node.next\n",
        "while 0 <= a < n and board[a, b] == s:\n    a, b = a + f, b + g\n",
        "while a[i] != 0:\n    i += 1\n",
        "while frame := frame.f_back:\n    if frame.file != name: break\n",
        "while step():\n    pass\n",
        "while flag[0]:\n    self.count = 1\n",
        "while not q.empty():\n    item = q.get()\n",
        "while True:\n    try:\n        item = q.get_nowait()\n    except Empty:\n        break\n",
        # They wait for a time.
        "while time.perf_counter() < begin + LENGTH[name]:\n    pass\n",
        "while seconds and time.perf_counter() - begin < seconds:\n    pass\n",
        "while True:\n    now = time.time()\n    if now > end: break\n",
        "for _ in env:\n    if rest > 0:\n        time.sleep(rest)\n",
        "while go:\n    if dt < 0.02:\n        time.sleep(0.02 - dt)\n    act()\n",
        # A sleep by itself may be the program's own.
        "while go:\n    time.sleep(1)\n    log()\n",
        "while True:\n    pass\n",
    ],
)
def test_loops_that_do_not(source: str) -> None:
    assert polling_lines(source) == []


@pytest.mark.parametrize("source", ["", "while", "while (", "'''", "while x:\n", "if x:\n)\n"])
def test_what_is_no_python_is_no_error(source: str) -> None:
    assert polling_lines(source) == []


def test_statements_are_nested_by_indentation() -> None:
    loop, last = statements_of("for x in y:  # a comment\n\tif x: f(a,\n  b); g()\nlast = {1: 2}\n")
    (branch,) = loop.body
    assert [s.text for s in branch.body] == ["f(a,   b)", "g()"]
    assert (branch.first, branch.last) == (2, 3)
    assert (last.text, last.body) == ("last = {1: 2}", [])


FLAGS = """
import multiprocessing, time
import torch

class Line:
    def __init__(self):
        self.x = 0.0
    def reset(self):
        self.x = 0.0
        return self.x
    def step(self, action):
        time.sleep(0.02)                       # a simulator
        self.x += action
        return self.x, -abs(self.x), abs(self.x) > 5, {}

def play(flag, box):
    env = Line()
    env.reset()
    while True:
        while flag.value == 1:
            SPIN
        if flag.value == 2:
            break
        box[0], box[1], done, _ = env.step(1.0)
        if done:
            env.reset()
        flag.value = 1

if __name__ == "__main__":
    flag, box = multiprocessing.Value("i", 0), multiprocessing.Array("d", 2)
    player = multiprocessing.Process(target=play, args=(flag, box))
    player.start()
    net = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    for _ in range(60):
        while flag.value != 1:
            SPIN
        rows = torch.tensor([[box[0]]])
        flag.value = 0
        loss = (net(rows.float()) - box[1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    while flag.value != 1:
        pass
    flag.value = 2
    player.join()
    print("done")
"""


@pytest.mark.real_time
@pytest.mark.parametrize("spin", ["pass", "time.sleep(0.001)"])
def test_who_is_waited_for_through_shared_memory(profile: Profile, spin: str) -> None:
    run = profile(FLAGS.replace("SPIN", spin))
    assert run.out == "done\n"
    waits = [p for p in run.phases if p["process"] == "main" and p["name"] == "wait"]
    assert sum(p["self_s"] for p in waits) > 0.3, run.table()
    rows = {(row["process"], row["name"]): row["seconds"] for row in run.report["run_table"]}
    assert rows["play", "env.step"] > 0.3, rows
