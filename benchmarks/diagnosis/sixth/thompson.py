# plants: nothing
"""Healthy: linear Thompson sampling for 256 advertising slots with rank-one updates."""

import time

import numpy as np

rng = np.random.default_rng(0)
slots, arms, d, rounds = 256, 16, 24, 1900
truth = rng.normal(size=(slots, d)) / d**0.5
inverse = np.broadcast_to(np.eye(d), (slots, d, d)).copy()
b = np.zeros((slots, d))
row = np.arange(slots)
regret = np.zeros(rounds)
start = time.perf_counter()
for t in range(rounds):
    x = rng.normal(size=(slots, arms, d))
    mean = np.matmul(inverse, b[..., None])[..., 0]
    root = np.linalg.cholesky(inverse)
    theta = mean + 0.3 * np.matmul(root, rng.normal(size=(slots, d, 1)))[..., 0]
    pick = np.matmul(x, theta[..., None])[..., 0].argmax(1)
    value = np.matmul(x, truth[..., None])[..., 0]
    chosen = x[row, pick]
    reward = value[row, pick] + 0.1 * rng.normal(size=slots)
    regret[t] = (value.max(1) - value[row, pick]).mean()
    u = np.matmul(inverse, chosen[..., None])
    inverse -= np.matmul(u, u.transpose(0, 2, 1)) / (1 + (chosen * u[..., 0]).sum(1))[:, None, None]
    b += reward[:, None] * chosen
took = time.perf_counter() - start
print(f"steps {rounds * slots} loop_s {took:.3f} return {-regret[-50:].mean():.4f}")
