"""With a raised limit a search reaches its full depth."""

import sys
import threading


class Agent:
    def act(self, depth):
        return 0 if depth == 0 else 1 + self.act(depth - 1)


class Env:
    def reset(self):
        return 0

    def step(self, action):
        return action, 0.0, False, {}


sys.setrecursionlimit(100_000)
threading.stack_size(512 * 1024 * 1024)


def search():
    env, agent = Env(), Agent()
    env.reset()
    for _ in range(30):
        env.step(agent.act(1))
    print(agent.act(40_000))


thread = threading.Thread(target=search)
thread.start()
thread.join()
