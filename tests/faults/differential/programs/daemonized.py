"""A double fork: the daemon closes everything, writes a file and ends."""

import os
import time
from pathlib import Path

folder = Path.cwd()
reads, writes = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.dup2(writes, 200)
    os.closerange(0, 200)
    time.sleep(0.1)
    (folder / "daemon").write_text("done")
    os.write(200, b"x")
    os._exit(0)
os.wait()
os.close(writes)
print(os.read(reads, 1))
