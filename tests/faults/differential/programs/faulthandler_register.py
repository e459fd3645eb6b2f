"""faulthandler.register writes the program's own frames first."""

import faulthandler
import os
import signal
import tempfile

with tempfile.TemporaryFile("w+") as file:
    faulthandler.register(signal.SIGUSR1, file=file, all_threads=False)
    os.kill(os.getpid(), signal.SIGUSR1)
    file.seek(0)
    print(file.read().splitlines()[:2], faulthandler.is_enabled())
