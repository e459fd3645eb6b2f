"""Waiting until one thread is left ends."""

import threading
import time

for _ in range(3):
    threading.Thread(target=time.sleep, args=(0.05,)).start()
while threading.active_count() > 1:
    time.sleep(0.01)
print([thread.name for thread in threading.enumerate()])
