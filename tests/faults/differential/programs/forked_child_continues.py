"""The child continues as the program, the parent ends."""

import os
import sys

reads, writes = os.pipe()
if os.fork():
    os.close(writes)
    os.read(reads, 1)
    sys.exit(0)
print("child goes on", flush=True)
sys.exit(1)
