"""A crash in one of several threads: faulthandler shows the program's threads."""

# frames: all
import ctypes
import faulthandler
import threading
import time

faulthandler.enable(all_threads=True)
end = threading.Event()


def crash():
    time.sleep(1.3)
    ctypes.string_at(1)


threading.Thread(target=end.wait, daemon=True).start()
threading.Thread(target=crash).start()
time.sleep(30)
