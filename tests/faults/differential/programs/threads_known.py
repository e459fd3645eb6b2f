"""Python knows of the program's threads only, before, during and after a second of work."""

# frames: all
import _thread
import sys
import threading
import time


def known():
    return _thread._count(), len(sys._current_frames()), len(sys._current_exceptions())


print(known())
for _ in range(5):
    time.sleep(0.3)
    print(known())
thread = threading.Thread(target=time.sleep, args=(0.2,))
thread.start()
print(known())
thread.join()
print(known())
