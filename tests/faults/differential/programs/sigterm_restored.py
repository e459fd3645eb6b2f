"""A handler that is set and reset to the default leaves the default."""

import os
import signal

previous = signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGTERM)
print("ignored")
signal.signal(signal.SIGTERM, previous)
print(signal.getsignal(signal.SIGTERM), flush=True)
os.kill(os.getpid(), signal.SIGTERM)
print("not reached")
