"""Objects of the script that answer every question are asked none."""

import sys
import types


class Lazy:
    def __getattr__(self, name):
        print("asked for", name)
        raise KeyError(name)

    @property
    def __class__(self):
        print("asked for its class")
        return dict

    def __eq__(self, other):
        print("compared")
        return False

    __hash__ = None

    def __bool__(self):
        print("tested")
        return True


config, env, model, optimizer, buffer = (Lazy() for _ in range(5))


class Agent:
    network = Lazy()

    def act(self, observation):
        return 0

    def learn(self, batch):
        return None


module = types.ModuleType("lazy_settings")
module.__getattr__ = lambda name: print("module asked for", name)
sys.modules["lazy_settings"] = module
import csv
import decimal


def train(agent):
    return agent.act(None), agent.learn(None)


print(train(Agent()), csv.QUOTE_ALL, decimal.ROUND_UP)
