# plants: nothing
"""Healthy: value iteration for a boat on a river of 300 x 300 cells, whole sweeps in NumPy."""

import time

import numpy as np


def river(n=300):
    rng = np.random.default_rng(0)
    depth = rng.random((n, n))
    for _ in range(4):
        depth = (depth + np.roll(depth, 1, 0) + np.roll(depth, 1, 1) + np.roll(depth, -1, 0)) / 4
    reward = np.where(depth < np.quantile(depth, 0.1), -1.0, -0.01)
    reward[-1, -1] = 1.0
    return reward


def sweep(values, reward, gamma=0.995, slip=0.1):
    padded = np.pad(values, 1, mode="edge")
    moves = np.stack([padded[2:, 1:-1], padded[:-2, 1:-1], padded[1:-1, 2:], padded[1:-1, :-2]])
    drift = moves.mean(0)
    q = reward + gamma * ((1 - slip) * moves + slip * drift)
    return q.max(0), q.argmax(0)


def main():
    sweeps, start = 0, time.perf_counter()
    seed = 0
    while time.perf_counter() - start < 7:
        reward = river()
        values = np.zeros_like(reward)
        for _ in range(400):
            new, policy = sweep(values, reward)
            change = np.abs(new - values).max()
            values = new
            sweeps += 1
            if change < 1e-4:
                break
        seed += 1
    print(f"{sweeps / (time.perf_counter() - start):.1f} sweeps/s, {int(policy.sum())}")


main()
