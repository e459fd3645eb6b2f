"""Healthy: evolution strategies with a whole population stepped as one array."""

# plants: nothing
import numpy as np

rng = np.random.default_rng(0)
POPULATION, DIMENSION = 256, 24
theta = np.zeros((8, 3))


def rollout(weights):
    state, total = np.zeros((len(weights), 8)), np.zeros(len(weights))
    state[:, 0] = 1
    for _ in range(200):
        action = np.tanh(np.einsum("ni,nij->nj", state, weights))
        state[:, :3] += 0.1 * action
        state[:, 3:] = 0.95 * state[:, 3:] + 0.05 * state[:, :5]
        total -= (state**2).sum(1)
    return total


for _generation in range(150):
    noise = rng.normal(size=(POPULATION, 8, 3))
    score = rollout(theta + 0.1 * noise)
    rank = score.argsort().argsort() / POPULATION - 0.5
    theta += 0.05 * np.einsum("n,nij->ij", rank, noise)
