# plants: nothing
"""Healthy: antithetic evolution strategy, a whole population of carts simulated in arrays."""

import time

import numpy as np


def rollout(theta, rng, horizon=200):
    """theta: (P, 4 * 8 + 8); returns of P two-layer policies, one cart each."""
    p = len(theta)
    first, second = theta[:, :32].reshape(p, 4, 8), theta[:, 32:]
    z = rng.uniform(-0.05, 0.05, (p, 4))
    alive, total = np.ones(p, bool), np.zeros(p)
    for _ in range(horizon):
        hidden = np.tanh(np.matmul(z[:, None], first)[:, 0])
        force = np.clip((hidden * second).sum(1), -1, 1) * 10
        x, v, w, u = z.T
        s, c = np.sin(w), np.cos(w)
        tmp = (force + 0.05 * u * u * s) / 1.1
        wa = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        z = z + 0.02 * np.stack([v, tmp - 0.05 * wa * c / 1.1, u, wa], 1)
        alive &= (np.abs(z[:, 0]) < 2.4) & (np.abs(z[:, 2]) < 0.21)
        total += alive
        z[~alive] = 0
    return total


def main(generations=70, half=2048, sigma=0.1, lr=0.3):
    rng = np.random.default_rng(0)
    mean = rng.normal(0, 0.1, 40)
    start = time.perf_counter()
    for _ in range(generations):
        noise = rng.normal(size=(half, 40))
        score = rollout(np.concatenate([mean + sigma * noise, mean - sigma * noise]), rng)
        rank = score.argsort().argsort() / len(score) - 0.5
        mean = mean + lr * (rank[:half] - rank[half:]) @ noise / (half * sigma)
    took = time.perf_counter() - start
    print(f"steps {generations * 2 * half * 200} loop_s {took:.3f} return {score.mean():.1f}")


main()
