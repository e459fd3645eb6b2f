"""Python 3.12 and later warn of a fork in a process with several threads: of the program's alone."""

import os
import threading
import warnings

warnings.simplefilter("always")


def forked() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    print([(os.path.basename(w.filename), w.lineno, w.category.__name__) for w in caught])


forked()
release = threading.Event()
thread = threading.Thread(target=release.wait)
thread.start()
forked()
release.set()
thread.join()
while os.path.exists(f"/proc/self/task/{thread.native_id}"):
    pass  # Python has joined it before the system has ended it
forked()
