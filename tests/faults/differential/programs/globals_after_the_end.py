"""After a script has ended, Python deletes its `__file__`; handlers that run later miss it."""

import atexit
import resource
import subprocess
import sys

if len(sys.argv) == 1:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    atexit.register(lambda: print(sorted(name for name in globals() if name.startswith("__"))))
    sys.excepthook = lambda *error: print("hook", "__file__" in globals())
    for ending in ("end", "error", "exit"):
        done = subprocess.run(
            [sys.executable, __file__, ending], capture_output=True, text=True, check=False
        )
        print(done.returncode, done.stdout, done.stderr.replace(sys.prefix, ""))
    raise KeyError("at the end")
atexit.register(lambda: print("at exit", "__file__" in globals(), "__cached__" in globals()))
if sys.argv[1] == "error":
    raise ValueError("an error")
if sys.argv[1] == "exit":
    sys.exit(3)
