"""Replaced, redirected and unbuffered streams."""

import contextlib
import io
import os
import sys

with contextlib.redirect_stdout(io.StringIO()) as text:
    print("caught")
print(repr(text.getvalue()))
os.write(1, b"raw\n")
sys.stdout.reconfigure(line_buffering=True)
print("line")
sys.stderr.write("error\n")
sys.stdout.buffer.write(b"bytes\n")
