"""python -X dev: the program's own leaks are reported, and nobody else's."""

# python: -X dev
import sys

open(__file__)  # leaks
print(sys.flags.dev_mode)
