"""sys.exit with a message."""

import sys

sys.exit("a message")
