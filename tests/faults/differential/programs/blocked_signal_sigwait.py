"""A blocked signal waits for sigwait, whichever threads exist."""

import os
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
os.kill(os.getpid(), signal.SIGUSR1)
print(signal.sigpending() & {signal.SIGUSR1, signal.SIGTERM})
print(signal.sigwait([signal.SIGUSR1]))
os.kill(os.getpid(), signal.SIGTERM)
print(signal.sigtimedwait([signal.SIGTERM], 5).si_signo)
