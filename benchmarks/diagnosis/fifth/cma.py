# plants: nothing
"""Healthy: CMA-ES on a batch of simulated cars, everything in arrays."""

import time

import numpy as np


def drive(plans):
    """Returns of a population of linear steering policies, 400 cars at once."""
    rng = np.random.default_rng(0)
    gains = plans.reshape(len(plans), 2, 8)
    state = np.zeros((len(plans), 8))
    state[:, 0] = 1.0
    total = np.zeros(len(plans))
    bends = rng.normal(0, 1, 120)
    for bend in bends:
        control = np.tanh(np.einsum("pij,pj->pi", gains, state))
        state[:, 1] += 0.1 * state[:, 2]
        state[:, 2] += 0.1 * (control[:, 0] - 0.3 * bend)
        state[:, 3] = 0.9 * state[:, 3] + 0.1 * control[:, 1]
        state[:, 4], state[:, 5] = bend, state[:, 1] ** 2
        total += state[:, 3] - state[:, 1] ** 2
    return total


def main():
    rng, n, people = np.random.default_rng(1), 16, 2000
    mean, sigma, cov = np.zeros(n), 0.5, np.eye(n)
    parents = people // 4
    weight = np.log(parents + 0.5) - np.log(np.arange(1, parents + 1))
    weight /= weight.sum()
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        values, vectors = np.linalg.eigh(cov)
        root = vectors * np.sqrt(np.maximum(values, 1e-10))
        moves = rng.normal(size=(people, n)) @ root.T
        scores = drive(mean + sigma * moves)
        best = moves[np.argsort(scores)[::-1][:parents]]
        mean = mean + sigma * weight @ best
        cov = 0.8 * cov + 0.2 * (best * weight[:, None]).T @ best
        sigma *= 0.999
        steps += people * 120
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s, best {scores.max():.1f}")


main()
