"""SIGHUP that is ignored stays ignored; its disposition is inherited."""

import os
import signal
import subprocess
import sys

signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGHUP)
print(
    subprocess.run(
        [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGHUP))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
)
