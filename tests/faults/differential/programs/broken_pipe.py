"""A write into a pipe that nobody reads."""

import os

reads, writes = os.pipe()
os.close(reads)
try:
    os.write(writes, b"x")
except BrokenPipeError as error:
    print(error)
