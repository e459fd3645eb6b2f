"""Handlers run in reverse, around a failing one, after the threads."""

import atexit
import sys
import threading
import time
import weakref


class Thing:
    pass


thing = Thing()
weakref.finalize(thing, print, "finalized")
atexit.register(print, "first registered")
atexit.register(lambda: 1 / 0)
atexit.register(print, "last registered")
atexit.register(print, "unregistered")
print(atexit._ncallbacks() if False else "registered")
threading.Thread(target=lambda: (time.sleep(0.1), print("thread ends"))).start()
print("main ends")
sys.exit(2)
