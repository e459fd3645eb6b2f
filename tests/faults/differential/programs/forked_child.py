"""A forked child ends normally, with its own handlers and output."""

import atexit
import os
import sys

atexit.register(lambda: print("handler of", "child" if child == 0 else "parent", flush=True))
sys.stdout.flush()
child = os.fork()
if child == 0:
    print("child", flush=True)
    sys.exit(6)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
