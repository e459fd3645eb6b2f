"""What every program of the benchmark does besides training: it says when and how long.

    first 81234.567     monotonic clock at the first environment step
    turn 0.31 0.30      seconds of a stretch of the loop, and processor time; then it waits
    loop 6.1            seconds of the training loop, by the clock on the wall, without waiting
    cpu 6.0             processor time of this process in the loop, all its threads

Two runs of a program are compared in turns (`benchmarks.runs.duel`): after every stretch a program
waits until a byte comes through the named pipe that `TURNS` tells. Without it, it just runs.

A program is its training and nothing else. What a person would add to it by hand stands in comments
(`# timers| …`, `# torch.profiler| …`) that `benchmarks.runs` turns into code where it is asked to.
"""

import os
import sys
import time
from contextlib import contextmanager

TURNS = "HOTLOOP_BENCH_TURNS"


def steps(usual):
    """How many environment steps to train for: the program's argument (500, or x3 for three times
    the usual number), or the usual number."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "x1"
    return usual * int(asked[1:]) if asked.startswith("x") else int(asked)


def without_tensorflow():
    """TensorBoard imports TensorFlow where that is installed; a program on torch needs none."""
    sys.modules["tensorflow"] = None


def first_step(env, name="step"):
    """Say when the environment is stepped for the first time; after that it is as it was."""
    original, own = getattr(env, name), name in vars(env)

    def step(*args, **kwargs):
        print(f"first {time.monotonic():.6f}", flush=True)
        if own:
            setattr(env, name, original)
        else:
            delattr(env, name)
        if _turns:
            _turns[0].hand_over()
        return original(*args, **kwargs)

    setattr(env, name, step)


def turns(stretch, **calls):
    """After this many calls of a method, the other program continues: `turns(64, step=env)`.

    They must be called equally often in every run. A stretch takes some hundredths of a second:
    what a machine with other guests does changes from one tenth to the next.
    """
    for name, owner in calls.items() if _turns else ():
        _hand_over_after(stretch, owner, name)


def _hand_over_after(stretch, owner, name):
    original = getattr(owner, name)
    made = 0

    def call(*args, **kwargs):
        nonlocal made
        made += 1
        if made % stretch == 0:
            _turns[0].hand_over()
        return original(*args, **kwargs)

    setattr(owner, name, call)


@contextmanager
def loop():
    """Around the training loop."""
    if _turns:
        _turns[0].begin()
    begin, cpu = time.perf_counter(), time.process_time()
    yield
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    if _turns:
        print(_turns[0].told())
        seconds = _turns[0].ran_s
    print(f"cpu {cpu:.6f}\nloop {seconds:.6f}", flush=True)


class _Turns:
    """The turns of this program, one of two."""

    def __init__(self, pipe):
        self._pipe = os.open(pipe, os.O_RDONLY)
        self.ran_s = 0.0

    def begin(self):
        self._begin, self._cpu = time.perf_counter(), time.process_time()

    def told(self):
        """How long the stretch was that ends here."""
        seconds, cpu = time.perf_counter() - self._begin, time.process_time() - self._cpu
        self.ran_s += seconds
        return f"turn {seconds:.6f} {cpu:.6f}"

    def hand_over(self):
        print(self.told(), flush=True)
        os.read(self._pipe, 1)
        self.begin()


_turns = [_Turns(os.environ[TURNS])] if TURNS in os.environ else []
