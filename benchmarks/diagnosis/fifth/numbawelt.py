# plants: nothing
"""Healthy: Q-learning on a bus line, simulator and learning compiled with numba."""

import time

import numba
import numpy as np


@numba.njit
def drive(q, episodes, epsilon, seed):
    np.random.seed(seed)
    steps = 0
    total = 0.0
    for _ in range(episodes):
        stop, load, waiting = 0, 0, np.zeros(12, np.int64)
        for _t in range(200):
            state = stop * 24 + min(load, 5) * 4 + min(waiting[stop], 3)
            action = (
                np.random.randint(3) if np.random.random() < epsilon else int(np.argmax(q[state]))
            )
            reward = -0.05 * waiting.sum()
            if action == 0:
                taken = min(waiting[stop], 6 - load)
                load += taken
                waiting[stop] -= taken
            elif action == 1:
                stop = (stop + 1) % 12
            else:
                reward += load
                load = 0
            waiting[np.random.randint(12)] += 1 if np.random.random() < 0.4 else 0
            after = stop * 24 + min(load, 5) * 4 + min(waiting[stop], 3)
            q[state, action] += 0.1 * (reward + 0.95 * q[after].max() - q[state, action])
            total += reward
            steps += 1
    return steps, total / episodes


def main():
    q = np.zeros((12 * 24, 3))
    drive(q, 1, 1.0, 0)
    steps, epsilon, start, results = 0, 0.5, time.perf_counter(), []
    while time.perf_counter() - start < 7:
        n, mean = drive(q, 500, epsilon, len(results))
        results.append(mean)
        epsilon = max(0.02, 0.99 * epsilon)
        steps += n
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s, return {results[-1]:.1f}")


main()
