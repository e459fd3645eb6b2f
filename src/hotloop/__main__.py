"""Makes `python -m hotloop` the same as `hotloop`."""

import sys

from hotloop.cli import main

if __name__ == "__main__":
    # A program that ends well just ends: `python -i` would show SystemExit, and its prompt follows.
    if code := main():
        sys.exit(code)
