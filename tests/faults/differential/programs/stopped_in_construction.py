"""--stop-after inside a constructor is the end that was asked for, not an error of the program."""

# hotloop: --stop-after 5s
# compare: code
# full: waits for five seconds
import sys
import time


class Env:
    def reset(self):
        return 0

    def step(self, action):
        time.sleep(0.01)
        return 0, 0.0, False, {}


class Trainer:
    def __init__(self):
        env = Env()
        env.reset()
        end = time.monotonic() + 7
        while time.monotonic() < end:
            env.step(0)


try:
    Trainer()
except Exception as error:
    print("failed", error)
    sys.exit(1)
