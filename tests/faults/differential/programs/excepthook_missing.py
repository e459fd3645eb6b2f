"""Without an excepthook, Python says so and shows the error."""

import sys

del sys.excepthook
raise ValueError("uncaught")
