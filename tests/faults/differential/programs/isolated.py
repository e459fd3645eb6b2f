"""Where imports look when the interpreter is isolated: not beside the script."""

# python: -I
import os
import sys

print([os.path.basename(folder) for folder in sys.path], sys.flags)
try:
    import recursion_error  # noqa: F401
except ImportError as error:
    print(error)
