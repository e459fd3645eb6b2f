"""SIGTERM that arrives in a function at exit ends the process there."""

import atexit
import os
import signal
import time


def late():
    print("at exit", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
    print("not reached")


atexit.register(print, "registered first")
atexit.register(late)
