"""A program that Ctrl-C ends dies of the signal, whatever it does on its way out."""

# env: PYTHONMALLOC=debug

import os
import signal
import sys
import threading
import time

sys.excepthook = lambda kind, error, traceback: print("hook", kind.__name__, bool(traceback))
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    time.sleep(30)
finally:
    with open("checkpoint", "w") as file:
        file.write("saved")
