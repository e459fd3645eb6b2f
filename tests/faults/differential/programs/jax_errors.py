"""The frames of a jitted function: in its errors, and while it is traced."""

# frames: all
# needs: jax
import inspect
import signal
import sys
import traceback

import jax


class Stop(Exception):
    pass


def stop(number, frame):
    raise Stop


@jax.jit
def fails(x):
    raise ValueError("while it is traced")


@jax.jit
def interrupted(x):
    signal.raise_signal(signal.SIGUSR1)
    return x


@jax.jit
def looks(x):
    print([frame.function for frame in inspect.stack()])
    return x * 2


signal.signal(signal.SIGUSR1, stop)
looks(1.0)
for jitted in (fails, interrupted):
    try:
        jitted(1.0)
    except (ValueError, Stop) as error:
        traceback.print_exc()
        print(len(traceback.extract_tb(error.__traceback__)))
seen = []
sys.setprofile(lambda frame, event, argument: seen.append((event, frame.f_code.co_name)))
looks(3.0)
sys.setprofile(None)
print(seen)
fails(2.0)
