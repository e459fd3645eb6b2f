"""What every program of the benchmark does besides training: it says when and how long.

    first 81234.567     monotonic clock at the first environment step
    loop 6.1            seconds of the training loop, by the clock on the wall
    cpu 6.0             processor time of this process in the loop, all its threads

A program is its training and nothing else. What a person would add to it by hand stands in comments
(`# timers| …`, `# torch.profiler| …`) that `benchmarks.runs` turns into code where it is asked to.
"""

import sys
import time
from contextlib import contextmanager


def steps(usual):
    """How many environment steps to train for: the program's argument, or the usual number."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else usual


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
        return original(*args, **kwargs)

    setattr(env, name, step)


@contextmanager
def loop():
    """Around the training loop."""
    begin, cpu = time.perf_counter(), time.process_time()
    yield
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    print(f"cpu {cpu:.6f}\nloop {seconds:.6f}", flush=True)
