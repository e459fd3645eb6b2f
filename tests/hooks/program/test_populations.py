"""Candidates of an evolution strategy, and evaluations of what was learned."""

from __future__ import annotations

from profiling import Profile

ENVIRONMENT = """
import random
class Walk:
    def reset(self): self.at = self.steps = 0; return 0
    def step(self, action):
        self.at += action; self.steps += 1
        return self.at, float(self.at), self.steps >= 10, {}
def evaluate(env, weight):
    observation, total, done = env.reset(), 0.0, False
    while not done:
        observation, reward, done, _ = env.step(1 if weight > observation else -1)
        total += reward
    return total
env = Walk()
"""
STRATEGY = """
class Strategy:
    def __init__(self): self.mean = 0.0
    def ask(self): return [self.mean + random.gauss(0, 1) for _ in range(6)]
    def tell(self, candidates, scores): self.mean = max(zip(scores, candidates))[1]
strategy = Strategy()
for _ in range(5):
    candidates = strategy.ask()
    strategy.tell(candidates, [evaluate(env, each) for each in candidates])
"""
TRAINING = """
print(evaluate(env, 0.0))
for _ in range(20):
    observation, done = env.reset(), False
    while not done:
        observation, reward, done, _ = env.step(random.choice((-1, 1)))
    evaluate(env, 0.0)
"""


def test_candidates_are_the_training_of_an_evolution_strategy(profile: Profile) -> None:
    run = profile(ENVIRONMENT + STRATEGY)
    assert run.counter("env_steps") == 5 * 6 * 10
    assert run.counter("episodes") == 5 * 6
    assert run.counter("generations") == 5
    assert run.calls("collect") == 5 * 6
    assert run.calls("candidates") + run.calls("learn.step") in (9, 10)  # the first `ask` is before
    assert run.calls("evaluate") == 0
    assert "evaluation" not in {each["id"] for each in run.report["findings"]}


def test_evaluations_between_training_steps_stay_evaluations(profile: Profile) -> None:
    run = profile("import random\n" + ENVIRONMENT + TRAINING)
    assert run.calls("evaluate") == 20
    assert run.counter("env_steps") in (200, 210)  # without gradients, the first call may be either


def test_with_gradients_the_first_evaluation_is_one(profile: Profile) -> None:
    run = profile("import torch\n" + ENVIRONMENT + TRAINING)
    assert run.counter("env_steps") == 200
