"""The same number of steps with as many processes as cores."""

import os

from too_many_envs_slow import main

if __name__ == "__main__":
    main(len(os.sched_getaffinity(0)))
