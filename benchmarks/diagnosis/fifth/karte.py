# plants: python-loop @ for other in self.places
"""Novelty bonus for a tabular explorer: the distance to every place seen, one by one."""

import sys
import time

import numpy as np

FIXED = "--fixed" in sys.argv


class Plain:
    """A point that drifts on a torus with a slow current."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.p, self.t = self.rng.uniform(0, 10, 2), 0
        return self.p.copy()

    def step(self, action):
        angle = action * np.pi / 4
        self.p = (self.p + 0.3 * np.array([np.cos(angle), np.sin(angle)]) + [0.02, 0.01]) % 10
        self.t += 1
        return self.p.copy(), self.t >= 150


class Bonus:
    """Mean distance to the ten nearest of the last 300 places."""

    def __init__(self):
        self.places = [np.zeros(2) for _ in range(300)]
        self.table = np.zeros((300, 2))
        self.at = 0

    def __call__(self, place):
        if FIXED:
            far = np.sqrt(((self.table - place) ** 2).sum(1))
            score = float(np.partition(far, 10)[:10].mean())
        else:
            far = []
            for other in self.places:
                far.append(np.linalg.norm(other - place))
            score = float(np.mean(sorted(far)[:10]))
        self.places[self.at] = self.table[self.at] = place
        self.at = (self.at + 1) % 300
        return score


def main():
    env, bonus, q = Plain(), Bonus(), np.zeros((20, 20, 8))
    place, steps, start = env.reset(), 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        cell = tuple((place * 2).astype(int) % 20)
        action = int(q[cell].argmax()) if np.random.random() > 0.1 else np.random.randint(8)
        after, over = env.step(action)
        reward = bonus(after)
        follow = tuple((after * 2).astype(int) % 20)
        q[cell][action] += 0.1 * (reward + 0.9 * q[follow].max() - q[cell][action])
        place = env.reset() if over else after
        steps += 1
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
