"""A program that closes its standard output ends as before."""

import sys

print("last", flush=True)
sys.stdout.close()
sys.stderr.write("still\n")
