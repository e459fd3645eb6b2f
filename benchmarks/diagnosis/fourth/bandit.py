# plants: thread-oversubscription @ var = np.einsum(
"""Healthy: LinUCB for 40 articles and batches of visitors; rank-one updates."""

import time

import numpy as np


class LinUCB:
    def __init__(self, arms, dim, width=0.5):
        self.inv = np.stack([np.eye(dim)] * arms)
        self.b = np.zeros((arms, dim))
        self.theta = np.zeros((arms, dim))
        self.width = width

    def scores(self, x):
        mean = x @ self.theta.T
        var = np.einsum("nd,ade,ne->na", x, self.inv, x, optimize=True)
        return mean + self.width * np.sqrt(np.maximum(var, 0))

    def learn(self, arm, x, reward):
        v = self.inv[arm] @ x
        self.inv[arm] -= np.outer(v, v) / (1 + x @ v)
        self.b[arm] += reward * x
        self.theta[arm] = self.inv[arm] @ self.b[arm]


def visitors(rng, truth):
    while True:
        x = rng.normal(size=(32, truth.shape[1]))
        yield (
            x,
            lambda arms, x=x: (
                rng.random(len(arms)) < 1 / (1 + np.exp(-(x * truth[arms]).sum(1)))
            ).astype(float),
        )


def main():
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 0.5, (40, 24))
    bandit = LinUCB(40, 24)
    pulls, start = 0, time.perf_counter()
    for x, click in visitors(rng, truth):
        arms = bandit.scores(x).argmax(1)
        for a, row, r in zip(arms, x, click(arms)):
            bandit.learn(a, row, r)
        pulls += len(arms)
        if time.perf_counter() - start > 8:
            break
    print(f"{pulls / (time.perf_counter() - start):.1f} steps/s")


main()
