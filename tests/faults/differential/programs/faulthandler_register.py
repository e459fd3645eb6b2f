"""faulthandler.register writes the program's own frames."""

# frames: all
import faulthandler
import os
import signal
import tempfile

with tempfile.TemporaryFile("w+") as file:
    faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)
    os.kill(os.getpid(), signal.SIGUSR1)
    file.seek(0)
    print(file.read(), faulthandler.is_enabled())
