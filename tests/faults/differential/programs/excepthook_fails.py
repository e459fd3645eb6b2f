"""An excepthook that raises: Python shows both errors; handlers find the last one."""

import atexit
import sys


def hook(kind, error, traceback):
    print(sys.exc_info(), sys.last_type is kind, sys.last_value is error)
    raise RuntimeError("in the hook")


atexit.register(lambda: print(sys.last_type.__name__, sys.last_value))
sys.excepthook = hook
raise ValueError("uncaught")
