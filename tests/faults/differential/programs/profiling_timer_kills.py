"""SIGPROF without a handler ends the program, also under a profiler."""

import os
import signal

print(signal.getsignal(signal.SIGPROF), flush=True)
os.kill(os.getpid(), signal.SIGPROF)
