"""Waiting for another process to end."""

import subprocess
import sys
import time

END = time.perf_counter() + 3


def main() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1.5)"])
    child.wait()  # hot: io


main()
