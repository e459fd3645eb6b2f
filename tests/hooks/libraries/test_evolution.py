"""Evolution strategies of libraries: candidates, generations, and what tries them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Profile = Callable[..., Any]

PYCMA = """
import cma
def cost(x):
    return sum(abs(each) ** 1.5 for _ in range(20) for each in x)
es = cma.CMAEvolutionStrategy(6 * [0.5], 0.3, {"seed": 1, "verbose": -9})
generations = 0
while generations < 15:
    candidates = es.ask()
    costs = [cost(x) for x in candidates]
    es.tell(candidates, costs)
    generations += 1
print(generations)
"""

CMAES = """
import gymnasium as gym, numpy as np
from cmaes import CMA
env = gym.make("CartPole-v1")
es = CMA(mean=np.zeros(4), sigma=1.0, seed=0)
steps = episodes = generations = 0
for _ in range(4):
    tried = []
    for _ in range(es.population_size):
        weights = es.ask()
        state, over = env.reset(seed=0)[0], False
        length = 0
        while not over:
            state, _, ended, cut, _ = env.step(int(state @ weights > 0))
            over = ended or cut
            length += 1
        steps += length
        episodes += 1
        tried.append((weights, -length))
    es.tell(tried)
    generations += 1
print(steps, episodes, generations)
"""


def test_what_tries_a_candidate_is_named(profile: Profile) -> None:
    pytest.importorskip("cma")
    run = profile(PYCMA)
    generations = int(run.out)
    assert run.counter("generations") == generations
    assert run.calls("candidates") == run.calls("learn.step") == generations
    (fitness,) = [phase for phase in run.phases if phase["name"] == "fitness"]
    assert fitness["how"] == "inferred"
    assert fitness["calls"] == generations


def test_steps_of_candidates_are_steps(profile: Profile) -> None:
    pytest.importorskip("cmaes")
    run = profile(CMAES)
    steps, episodes, generations = map(int, run.out.split())
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert run.counter("generations") == generations
    assert run.calls("candidates") == episodes
