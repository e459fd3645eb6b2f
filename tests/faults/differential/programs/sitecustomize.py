"""A user's own sitecustomize is run and importable."""

# file: sitecustomize.py VALUE = 42
# env: PYTHONPATH=.
import sys

import sitecustomize

print(
    sitecustomize.VALUE,
    "sitecustomize" in sys.modules,
    sitecustomize.__file__.endswith("sitecustomize.py"),
)
