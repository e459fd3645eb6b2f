"""A package that loads its parts when they are asked for, as an agent's method uses it."""
# file: parts.py def __getattr__(name): print("asked for", name); return len

import os
import sys

sys.path.insert(0, os.getcwd())
import parts


class Forwarding:
    def __init__(self, target):
        self.target = target

    def __getattr__(self, name):
        print("forwarded", name)
        return getattr(self.target, name)

    def __call__(self, state):
        return state


rule = Forwarding(len)


class Agent:
    def act(self, state):
        return parts.Rule("ab") + rule(state)

    def learn(self, batch):
        return rule(batch)


agent = Agent()
print([agent.act(number) + agent.learn(1) for number in range(3)])
