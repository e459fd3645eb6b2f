"""`sys.exit` keeps `__file__` for handlers that run later."""

import atexit
import sys

atexit.register(lambda: print("__file__" in globals(), "__cached__" in globals()))
sys.exit(3)
