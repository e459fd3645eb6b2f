"""A Python child writes what it always writes, to both streams."""

import subprocess
import sys

child = subprocess.run(
    [sys.executable, "-c", "import sys; print(1); print(2, file=sys.stderr); sys.exit(3)"],
    capture_output=True,
    text=True,
)
print(child.returncode, repr(child.stdout), repr(child.stderr))
child = subprocess.run(
    [sys.executable, "-I", "-c", "print('isolated')"], capture_output=True, text=True
)
print(child.returncode, repr(child.stdout), repr(child.stderr))
