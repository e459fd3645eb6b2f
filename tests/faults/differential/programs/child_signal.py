"""SIGCHLD reaches the program's handler for the program's own children only."""

import os
import signal
import time

ended = []
signal.signal(signal.SIGCHLD, lambda *_: ended.append(1))
child = os.fork()
if child == 0:
    os._exit(3)
while not ended:
    time.sleep(0.005)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(ended))
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError as error:
    print(error)
