"""setitimer and SIGALRM stay the program's."""

import signal
import time

fired = []
print(
    signal.getitimer(signal.ITIMER_REAL),
    signal.getitimer(signal.ITIMER_PROF),
    signal.getitimer(signal.ITIMER_VIRTUAL),
)
print(
    signal.getsignal(signal.SIGALRM),
    signal.getsignal(signal.SIGPROF),
    signal.getsignal(signal.SIGVTALRM),
)
signal.signal(signal.SIGALRM, lambda *_: fired.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
while len(fired) < 5:
    time.sleep(0.005)
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(fired) >= 5)
