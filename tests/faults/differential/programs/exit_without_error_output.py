"""The message of sys.exit goes to the standard error, whatever `sys.stderr` is by then."""

import sys


def train():
    agent = Agent()
    agent.learn()
    sys.stderr = None
    sys.exit("no more memory")


class Agent:
    def learn(self):
        return 1

    def __del__(self):
        print("agent is gone")


train()
