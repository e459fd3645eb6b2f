"""os.abort ends with SIGABRT."""

import os

print("before", flush=True)
os.abort()
