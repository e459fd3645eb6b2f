"""Endless recursion ends in RecursionError after as many calls as ever."""

# frames: all
import sys

depth = 0


def fall():
    global depth
    depth += 1
    fall()


for limit in (sys.getrecursionlimit(), 400):
    sys.setrecursionlimit(limit)
    depth = 0
    try:
        fall()
    except RecursionError as error:
        print(str(error), depth, sys.getrecursionlimit())
