"""Forty children fork, work and end."""

import os

children = []
for number in range(40):
    child = os.fork()
    if child == 0:
        os._exit(sum(range(1000)) % 7 + number % 3)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
