"""Objects of the script are finalized at the end, and files that were left open get their last lines."""

import atexit
import sys
import weakref


class Env:
    def __init__(self):
        self.log = open("log.csv", "w")

    def reset(self):
        return 0

    def step(self, action):
        self.log.write(f"{action}\n")
        return action, 1.0, action > 3, {}

    def __del__(self):
        print("env is gone")


def rollout(env):
    try:
        env.reset()
        for action in range(10):
            yield env.step(action)
    finally:
        print("rollout closed", sys.is_finalizing())


env = Env()
steps = rollout(env)
print(next(steps), next(steps))
finalized = weakref.finalize(env, print, "finalized")
reference = weakref.ref(env, lambda _: print("reference is dead"))
atexit.register(lambda: print(next(steps)))
cycle = [Env()]
cycle.append(cycle)
