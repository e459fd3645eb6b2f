"""A handler calls the one that was there before it, then writes a checkpoint."""

# send: SIGTERM
import signal
import sys
import time
from pathlib import Path

before = signal.getsignal(signal.SIGTERM)
print(before)


def handle(number, frame):
    if callable(before):
        before(number, frame)
    Path("checkpoint").write_text("saved")
    print("saved")
    sys.exit(3)


print(signal.signal(signal.SIGTERM, handle))
Path("ready").touch()
while True:
    time.sleep(0.05)
