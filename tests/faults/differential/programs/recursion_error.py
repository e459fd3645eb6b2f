"""Endless recursion ends in RecursionError after as many calls as ever."""

import sys

depth = 0


def fall():
    global depth
    depth += 1
    fall()


try:
    fall()
except RecursionError as error:
    print(str(error), abs(depth - sys.getrecursionlimit()) < 50)
print(sys.getrecursionlimit())
