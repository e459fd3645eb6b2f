# plants: deepcopy-in-step @ copy.deepcopy(self.world)
# plants: evaluation @ evaluate(table, 8)
"""Deep copies of the world in each step (larger) and a frequent evaluation (smaller)."""

import copy
import sys
import time

import numpy as np

FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv


class Forest:
    """Fire fighting on a graph of trees."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.links = {i: [int(j) for j in self.rng.integers(0, 40, 4)] for i in range(40)}

    def reset(self):
        self.world = {
            "trees": {i: {"fire": bool(self.rng.random() < 0.1), "age": i} for i in range(40)},
            "crew": 0,
            "t": 0,
        }
        return self.observe()

    def observe(self):
        crew = self.world["crew"]
        near = sum(self.world["trees"][j]["fire"] for j in self.links[crew])
        return near * 2 + int(self.world["trees"][crew]["fire"])

    def step(self, action):
        world = self.world if FIX1 else copy.deepcopy(self.world)
        if action == 4:
            world["trees"][world["crew"]]["fire"] = False
        else:
            world["crew"] = self.links[world["crew"]][action]
        burning = [i for i, t in world["trees"].items() if t["fire"]]
        for i in burning:
            if self.rng.random() < 0.05:
                world["trees"][self.links[i][int(self.rng.integers(4))]]["fire"] = True
        world["t"] += 1
        self.world = world
        return self.observe(), -len(burning) / 40, world["t"] >= 100


def greedy(table, obs):
    return int(table[obs].argmax())


def evaluate(table, episodes):
    env, total = Forest(7), 0.0
    for _ in range(episodes):
        obs, over = env.reset(), False
        while not over:
            obs, r, over = env.step(greedy(table, obs))
            total += r
    return total / episodes


def main():
    env, table, rng = Forest(), np.zeros((10, 5)), np.random.default_rng(1)
    obs, steps, start = env.reset(), 0, time.perf_counter()
    while time.perf_counter() - start < 9:
        a = int(rng.integers(5)) if rng.random() < 0.2 else greedy(table, obs)
        nxt, r, over = env.step(a)
        table[obs, a] += 0.05 * (r + 0.95 * table[nxt].max() - table[obs, a])
        obs = env.reset() if over else nxt
        steps += 1
        if steps % (20000 if FIX2 else 1500) == 0:
            evaluate(table, 8)
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
