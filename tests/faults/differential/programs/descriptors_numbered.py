"""The program's files get the lowest numbers, and as many as its limit allows."""

import os
import resource

first = os.open("own", os.O_CREAT | os.O_WRONLY)
print(first, os.dup(first), os.pipe(), os.get_inheritable(first))
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
opened = []
try:
    while True:
        opened.append(os.open(os.devnull, os.O_RDONLY))
except OSError as error:
    print(len(opened), error.strerror)
