"""SIGTERM ends a program that does not handle it."""

# send: SIGTERM
import time
from pathlib import Path

Path("ready").touch()
time.sleep(30)
