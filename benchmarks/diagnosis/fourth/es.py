# plants: nothing
"""Healthy: an evolution strategy; the whole population runs as one NumPy batch."""

import time

import numpy as np

rng = np.random.default_rng(0)
POP, OBS, HID, ACT, T = 256, 8, 16, 2, 60
D = OBS * HID + HID * ACT
theta = np.zeros(D, np.float32)


def unroll(weights):
    w1 = weights[:, : OBS * HID].reshape(POP, OBS, HID)
    w2 = weights[:, OBS * HID :].reshape(POP, HID, ACT)
    x = rng.normal(0, 1, (POP, OBS)).astype(np.float32)
    score = np.zeros(POP, np.float32)
    for _ in range(T):
        hidden = np.tanh(np.matmul(x[:, None, :], w1))
        act = np.tanh(np.matmul(hidden, w2))[:, 0]
        x = 0.95 * x
        x[:, :ACT] += 0.1 * act
        x[:, 2:] += rng.standard_normal((POP, OBS - 2), dtype=np.float32) * 0.05
        score -= np.abs(x[:, :ACT]).sum(1)
    return score


steps, t0 = 0, time.perf_counter()
while time.perf_counter() - t0 < 8:
    eps = rng.standard_normal((POP // 2, D), dtype=np.float32)
    eps = np.concatenate([eps, -eps])
    fit = unroll(theta + 0.1 * eps)
    rank = fit.argsort().argsort() / (POP - 1) - 0.5
    theta += 0.05 * (rank.astype(np.float32) @ eps) / (POP * 0.1)
    steps += POP * T
print(f"{steps / (time.perf_counter() - t0):.1f} steps/s")
