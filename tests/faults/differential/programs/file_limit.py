"""A low limit on open files is the program's to use."""

import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
kept = []
try:
    while True:
        kept.append(open("/dev/null"))
except OSError as error:
    print(error.strerror, len(kept) > 15)
del kept
with open("after", "w") as file:
    file.write("x")
