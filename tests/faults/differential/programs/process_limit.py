"""Limits, niceness, session and group are inherited as they are."""

import os
import resource

print(
    resource.getrlimit(resource.RLIMIT_STACK)[0] == resource.getrlimit(resource.RLIMIT_STACK)[0],
    os.nice(0),
)
print(
    os.getpgrp() == os.getpid(),
    os.getsid(0) == os.getpid(),
    sorted(os.sched_getaffinity(0)) == list(range(os.cpu_count())),
)
