"""Functions have the code that Python gives them, and the script is one frame from start to end."""

import os.path
import sys

frame = sys._getframe()
events = []
sys.setprofile(lambda frame, event, argument: events.append((event, frame.f_code.co_name)))


class Agent:
    def act(self, observation):
        return os.path.join("a", str(observation))


def train(agent):
    return sys.getrecursionlimit() > 0 and agent.act(1)


print(sys._getframe() is frame)


class Environment:
    def step(self, action):
        return action, 0.0, False, False, {}


sys.setprofile(None)
train(Agent())
print(events)
for function in (Agent.act, train, Environment.step):
    code = function.__code__
    print(function.__qualname__, code.co_code.hex(), code.co_consts, code.co_names)
print("\d" == "\\d", frame.f_code.co_name, __doc__)
print(sorted(vars()))
