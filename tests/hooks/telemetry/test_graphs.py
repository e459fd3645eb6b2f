"""Autograd graphs of acting."""

from __future__ import annotations

import pytest
from profiling import Profile

from hotloop.analyze.processes.training import read_capture

AGENT = """
import gymnasium as gym
import torch


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 2)

    def forward(self, x):
        return torch.distributions.Categorical(logits=self.body(x)), None


class Agent:
    def __init__(self):
        self.policy, self.memory = Policy(), []

    def get_action(self, obs):
        with torch.set_grad_enabled(GRADIENTS):
            distribution, _ = self.policy(torch.from_numpy(obs))
        return distribution.sample().item()

    def learn(self):
        optimizer.zero_grad()
        self.policy(torch.zeros(8, 4))[0].entropy().mean().backward()
        optimizer.step()


torch.set_num_threads(1)
env, agent = gym.make("CartPole-v1"), Agent()
optimizer = torch.optim.SGD(agent.policy.parameters(), 0.1)
obs, _ = env.reset(seed=0)
for step in range(640):
    obs, _, ended, cut, _ = env.step(agent.get_action(obs))
    if ended or cut:
        obs, _ = env.reset()
    if step % 16 == 15:
        agent.learn()
"""


@pytest.mark.parametrize("gradients", [True, False])
def test_graphs_inside_an_agents_own_act_are_seen(profile: Profile, gradients: bool) -> None:
    run = profile(AGENT.replace("GRADIENTS", str(gradients)))
    counters = run.report["run"]["counters"]
    assert run.report["shapes"] == {"policy.act": ["__main__:Agent.get_action"]}
    assert counters["acts_seen"] >= 10
    assert counters.get("acts_with_graph", 0) == (counters["acts_seen"] if gradients else 0)
    assert "act_graphs_used" not in counters


POLICY_GRADIENT = """
import numpy as np, torch
from torch.distributions import Categorical
torch.manual_seed(0)
class Env:
    def reset(self): self.t = 0; return np.zeros(4, np.float32)
    def step(self, action):
        self.t += 1
        return np.full(4, self.t / 50, np.float32), 1.0, self.t >= 20, {}
env = Env()
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for episode in range(60):
    obs, done, logs = env.reset(), False, []
    while not done:
        policy = Categorical(logits=net(torch.from_numpy(obs)))
        action = policy.sample()
        logs.append(policy.log_prob(action))
        obs, reward, done, _ = env.step(int(action))
    loss = -torch.stack(logs).sum()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


ACTS_AND_LEARNS = """
import numpy as np, torch
from torch.distributions import Categorical

class Env:
    def reset(self): self.t = 0; return np.zeros(4, np.float32)
    def step(self, action):
        self.t += 1
        return np.full(4, self.t / 50, np.float32), 1.0, self.t >= 20, {}
class Agent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(4, 16), torch.nn.Linear(16, 2)
    def pi(self, x):
        return torch.softmax(self.head(torch.relu(self.body(x))), -1)
def train():
    for _ in range(3):
        chosen = agent.pi(torch.tensor(np.array(states)))
        loss = -chosen.log().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
torch.manual_seed(0)
env, agent = Env(), Agent()
optimizer = torch.optim.Adam(agent.parameters(), 1e-3)
for episode in range(120):
    state, done, states = env.reset(), False, []
    while not done:
        action = Categorical(agent.pi(torch.from_numpy(state))).sample()  # the act
        states.append(state)
        state, reward, done, _ = env.step(int(action))
    train()
"""


def test_a_method_that_acts_and_learns_is_not_where_gradients_can_go(profile: Profile) -> None:
    """Without gradients in `pi` nothing would be learned any more; its caller that acts may."""
    run = profile(ACTS_AND_LEARNS)
    found = read_capture(run.capture).main.notes.places["acts with a graph"]
    act = 1 + [*ACTS_AND_LEARNS.splitlines()].index(
        next(line for line in ACTS_AND_LEARNS.splitlines() if "# the act" in line)
    )
    assert [each.line for each in found] == [act]


def test_a_policy_gradient_goes_back_through_its_actions(profile: Profile) -> None:
    counters = profile(POLICY_GRADIENT).report["run"]["counters"]
    assert counters["act_graphs_watched"] > 10
    assert counters["act_graphs_used"] > 10


ACTS_TWICE = """
import torch
class Env:
    def reset(self): self.t = 0; return torch.zeros(4)
    def step(self, action):
        self.t += 1
        return torch.randn(4), 1.0, self.t >= 20, {}
class Agent:
    def __init__(self):
        self.actor, self.critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.Adam(self.actor.parameters(), 1e-3)
        self.logs = []
    def act(self, state):
        policy = torch.distributions.Categorical(logits=self.actor(state))
        self.critic(state).item()
        action = policy.sample()
        self.logs.append(policy.log_prob(action))
        return int(action)
    def learn(self):
        self.optimizer.zero_grad(); (-torch.stack(self.logs).sum()).backward(); self.optimizer.step()
        self.logs = []
torch.manual_seed(0)
env, agent = Env(), Agent()
for episode in range(60):
    state, done = env.reset(), False
    while not done:
        state, reward, done, _ = env.step(agent.act(state))
    agent.learn()
"""


def test_each_network_of_an_act_has_its_turn(profile: Profile) -> None:
    counters = profile(ACTS_TWICE).report["run"]["counters"]
    assert counters["act_graphs_used"] > 5


ODD_ANSWER = """
import torch
class Answer:
    @property
    def grad_fn(self): raise RuntimeError("not now")
class Network(torch.nn.Module):
    def forward(self, x): return Answer()
class Agent:
    def __init__(self): self.network = Network()
    def act(self, state):
        self.network(state)
        return 0
    def remember(self, state, action, reward, done): ...
    def learn(self): ...
agent = Agent()
for step in range(200):
    agent.act(torch.zeros(1, 4))
print("finished")
"""


def test_an_answer_that_cannot_be_looked_at_stops_nothing(profile: Profile) -> None:
    assert profile(ODD_ANSWER).out == "finished\n"
