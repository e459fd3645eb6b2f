"""Bandits and the agents that play them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotloop.hooks.program.bandits import chooses_an_arm, is_bandit, learns_a_reward, pulls

Profile = Callable[..., Any]

PROGRAM = """
import random

class BernoulliBandit:
    def __init__(self, arms): self.p = [random.random() for _ in range(arms)]
    def pull(self, arm): return float(random.random() < self.p[arm])

class Greedy:
    def __init__(self, arms): self.n, self.mean = [0] * arms, [0.0] * arms
    def select_arm(self):
        if random.random() < 0.1: return random.randrange(len(self.n))
        return max(range(len(self.n)), key=self.mean.__getitem__)
    def update(self, arm, reward):
        self.n[arm] += 1
        self.mean[arm] += (reward - self.mean[arm]) / self.n[arm]

pulled = 0
for _ in range(3):
    bandit, agent = BernoulliBandit(5), Greedy(5)
    for _ in range(400):
        arm = agent.select_arm()
        agent.update(arm, bandit.pull(arm))
        pulled += 1
print(pulled)
"""


def test_a_bandit_is_not_whoever_plays_it() -> None:
    assert is_bandit({"bernoulli", "bandit"})
    assert not is_bandit({"bandit", "agent"})
    assert not is_bandit({"market"})


def test_methods_by_their_names_and_parameters() -> None:
    assert pulls(["pull"], ["arm"])
    assert not pulls(["pull"], [])
    assert chooses_an_arm(["select", "arm"], [])
    assert not chooses_an_arm(["select", "features"], [])
    assert not chooses_an_arm(["select", "arm"], ["history", "step"])
    assert learns_a_reward(["update"], ["chosen_arm", "reward"])
    assert not learns_a_reward(["update"], ["params", "grads"])


def test_pulls_are_steps(profile: Profile) -> None:
    run = profile(PROGRAM)
    pulled = int(run.out)
    assert run.counter("env_steps") == run.calls("env.step") == pulled
    assert run.counter("episodes") == 0
    assert run.calls("learn.step") == pulled
    assert run.calls("policy.act") == pulled - 1  # the loop begins with the first pull
