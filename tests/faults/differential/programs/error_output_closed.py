"""A program without a standard error."""

import os
import sys

sys.stderr.close()
os.close(2)
print("end")
