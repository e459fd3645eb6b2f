"""Signals that every thread blocks are taken by the thread that waits."""

import os
import signal
import threading

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
got = []
thread = threading.Thread(target=lambda: got.append(signal.sigwait([signal.SIGUSR2])))
thread.start()
for _ in range(100):
    if got:
        break
    os.kill(os.getpid(), signal.SIGUSR2)
    thread.join(0.05)
print(got)
