"""A child process runs the user's sitecustomize too."""

# file: sitecustomize.py VALUE = 42
# env: PYTHONPATH=.
import subprocess
import sys

child = subprocess.run(
    [sys.executable, "-c", "import sitecustomize; print(sitecustomize.VALUE)"],
    capture_output=True,
    text=True,
)
print(child.stdout, child.stderr, child.returncode)
