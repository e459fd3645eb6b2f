"""Instances, bound methods and classes of the program pickle, before and after a loop."""

import copy
import pickle


class Env:
    def __init__(self):
        self.at = 0

    def reset(self):
        self.at = 0
        return 0

    def step(self, action):
        self.at += 1
        return self.at, 0.0, self.at > 5, {}


env = Env()
sizes = []
for _ in range(3):
    env.reset()
    while not env.step(0)[2]:
        pass
    sizes.append(len(pickle.dumps((env, env.step, Env, Env.step))))
again, method, kind, function = pickle.loads(pickle.dumps((env, env.step, Env, Env.step)))
print(
    len(set(sizes)),
    vars(again),
    method(0),
    kind is Env,
    function is Env.step,
    vars(copy.deepcopy(env)),
    vars(env),
)
