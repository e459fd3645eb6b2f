"""set_wakeup_fd: nobody has set one before."""

import os
import signal
import socket

one, other = socket.socketpair()
one.setblocking(False)
print(signal.set_wakeup_fd(one.fileno()))
signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1)
print(other.recv(1) == bytes([signal.SIGUSR1]))
signal.set_wakeup_fd(-1)
