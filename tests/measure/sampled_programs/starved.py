"""One CPU core for this process and three others: most of the time it waits for the core."""

import os
import subprocess
import sys
import time

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
BUSY = "import time\nend = time.perf_counter() + 4\nwhile time.perf_counter() < end: pass"
others = [subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(3)]
time.sleep(0.3)
END = time.perf_counter() + 2


def main() -> None:
    while time.perf_counter() < END:
        sum(range(100_000))  # hot: core


main()
for other in others:
    other.kill()
