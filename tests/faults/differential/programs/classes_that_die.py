"""Classes that a function makes, of environments, networks and optimizers, end when nothing uses them."""

# needs: gymnasium
# shares: torch
import gc
import sys
import weakref

import gymnasium
import torch


def make(factor):
    class Env(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(2)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

        def step(self, action):
            return 0, float(factor), action > 3, False, {}

    class Network(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) * factor

    class Optimizer(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    return Env, Network, Optimizer


def train(factor):
    env_class, network_class, optimizer_class = made = make(factor)
    env = gymnasium.wrappers.TimeLimit(env_class(), 10)
    network = network_class(2, 1)
    optimizer = optimizer_class(network.parameters(), 0.1)
    env.reset(seed=1)
    for action in range(6):
        env.step(action)
        network(torch.ones(2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [weakref.ref(each) for each in made]


references = [reference for factor in range(4) for reference in train(factor)]
gc.collect()
print([reference() is None for reference in references])


class Deep(gymnasium.Env):
    def step(self, depth):
        return self.step(depth - 1) if depth else (0, 1.0, False, False, {})


env, step = Deep(), Deep.step
print(env.step(sys.getrecursionlimit() - 200))
del Deep
print(step(env, 3))
