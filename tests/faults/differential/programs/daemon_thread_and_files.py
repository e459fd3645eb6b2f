"""A daemon thread that waits does not keep the program's files from being flushed."""

import queue
import threading


class Env:
    def __init__(self):
        self.log = open("log.csv", "w")

    def reset(self):
        return 0

    def step(self, action):
        self.log.write(f"{action}\n")
        return action, 1.0, action > 3, {}


env = Env()
env.reset()
for action in range(6):
    env.step(action)
waiting = queue.Queue()
threading.Thread(target=waiting.get, daemon=True).start()
threading.Thread(target=env.step, args=(7,)).start()
