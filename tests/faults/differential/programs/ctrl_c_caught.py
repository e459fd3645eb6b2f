"""A program that handles KeyboardInterrupt saves and ends well."""

# send: SIGINT
import time
from pathlib import Path

try:
    Path("ready").touch()
    while True:
        time.sleep(0.05)
except KeyboardInterrupt:
    Path("checkpoint").write_text("saved")
    print("saved")
