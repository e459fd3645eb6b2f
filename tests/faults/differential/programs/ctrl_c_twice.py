"""A handler that counts; the second Ctrl-C ends the program."""

import os
import signal
import sys

count = 0


def handle(number, frame):
    global count
    count += 1
    print("interrupt", count)
    if count == 2:
        sys.exit(4)


print(signal.signal(signal.SIGINT, handle) is signal.default_int_handler)
os.kill(os.getpid(), signal.SIGINT)
os.kill(os.getpid(), signal.SIGINT)
