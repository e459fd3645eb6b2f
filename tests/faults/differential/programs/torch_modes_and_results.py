"""Function modes and tensors of the program's own class see only the calls of the program."""
# shares: torch

from collections import Counter

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

called = Counter()


class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        called["mode", getattr(function, "__name__", "")] += 1
        return function(*args, **(kwargs or {}))


class Operators(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        called["operator", str(function)] += 1
        return function(*args, **(kwargs or {}))


class Marked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        called["class", function.__name__] += 1
        return super().__torch_function__(function, types, args, kwargs or {})


class Env:
    def __init__(self, reward, done):
        self.reward, self.done = reward, done

    def reset(self):
        return torch.zeros(4, 3)

    def step(self, action):
        return torch.ones(4, 3), self.reward, self.done, {}


class Agent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.memory = []

    def forward(self, state):
        return self.layer(state)

    def act(self, state):
        return self(state).argmax(-1)

    def store(self, state, reward):
        self.memory.append((state, reward))

    def learn(self):
        state, reward = self.memory[-1]
        loss = (self(state).sum(-1) - reward).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train(env):
    state = env.reset()
    for _ in range(70):
        state, reward, done, _ = env.step(agent.act(state))
        agent.store(state, reward)
        agent.learn()


torch.manual_seed(0)
agent = Agent()
optimizer = torch.optim.SGD(agent.parameters(), 0.01)
rewards, dones = torch.ones(4), torch.zeros(4, dtype=torch.bool)
for env in (
    Env(rewards, dones),
    Env(torch.tensor(1.0), torch.tensor(False)),
    Env(rewards.as_subclass(Marked), dones.as_subclass(Marked)),
):
    train(env)
    print("without", sorted(called.items()))
    called.clear()
    with Functions(), Operators():
        train(env)
    print("inside", sorted(called.items()))
    called.clear()
torch.set_default_device("cpu")
train(Env(rewards, dones))
torch.set_default_device(None)
print(agent.layer.weight.sum().item())
