"""Joining every other thread ends."""

import threading
import time

worker = threading.Thread(target=time.sleep, args=(0.1,), name="worker")
worker.start()
print(sorted(thread.name for thread in threading.enumerate()))
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()
print(threading.active_count(), threading.main_thread() is threading.current_thread())
