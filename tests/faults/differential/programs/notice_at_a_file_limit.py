"""hotloop cannot say in full that its capture cannot be written, and the exit code stays."""
# compare: code

import resource
import time

resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


class Env:
    def reset(self):
        return 0

    def step(self, action):
        return 0, 0.0, False, {}


env = Env()
env.reset()
for _ in range(12):
    env.step(0)
    time.sleep(0.1)
