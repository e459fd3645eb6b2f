"""os._exit ends at once: no handlers, no buffers."""

import atexit
import os

atexit.register(print, "not printed")
print("flushed", flush=True)
print("in the buffer")
os._exit(7)
