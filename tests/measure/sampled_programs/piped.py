"""A pipe that another process writes to now and then."""

import os
import subprocess
import sys
import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    writer = "import os, time\nwhile os.write(1, b'.'): time.sleep(0.02)"
    child = subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE)
    assert child.stdout is not None
    pipe = child.stdout.fileno()
    step = 0
    while time.perf_counter() < END:
        os.read(pipe, 1)  # hot: io
        step = schedule(step)


main()
