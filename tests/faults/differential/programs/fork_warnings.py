"""A fork in a program with one thread warns of nothing; with two it warns from the program's line."""

import os
import re
import threading
import warnings


def fork_and_wait() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(3)
    return os.waitpid(pid, 0)[1] >> 8


warnings.showwarning = lambda message, category, file, line, *_: print(
    category.__name__, re.sub(r"\d+", "N", str(message)), os.path.basename(file), line
)
print(fork_and_wait())
event = threading.Event()
thread = threading.Thread(target=event.wait)
thread.start()
print(fork_and_wait(), os.fork)
event.set()
thread.join()
