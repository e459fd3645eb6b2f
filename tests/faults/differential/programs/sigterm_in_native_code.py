"""SIGTERM ends a program inside a native call that never returns to the interpreter."""

# send: SIGTERM
from pathlib import Path

Path("ready").touch()
sum(range(10**12))
