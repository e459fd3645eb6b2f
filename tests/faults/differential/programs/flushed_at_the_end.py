"""Python flushes a script's output when the script ends: before `atexit`, and what that cuts off."""

import atexit
import os
import sys


def leave():
    os.write(1, b"leaving\n")
    os._exit(5)


os.dup2(1, 2)
atexit.register(leave)
print("no newline", end=" ")
if os.fork() == 0:
    sys.exit("message of the child")
os.wait()
raise ValueError("shown after the output")
