# plants: env-bound @ solve_ivp(
"""Cross-entropy planning for a stirred tank reactor; the plant is integrated to ten digits."""

import sys
import time

import numpy as np
from scipy.integrate import odeint, solve_ivp

FIXED = "--fixed" in sys.argv


def balance(_t, y, cooling):
    c, temperature = y
    rate = 7.2e10 * np.exp(-8750.0 / temperature) * c
    return np.array(
        [1.0 - c - rate, 350.0 - temperature + 209.0 * rate + 2.09 * (cooling - temperature)]
    )


class Reactor:
    dt = 0.1

    def reset(self):
        self.y, self.t = np.array([0.5, 350.0]), 0
        return self.y.copy()

    def step(self, cooling):
        if FIXED:
            self.y = odeint(balance, self.y, (0, self.dt), args=(cooling,), tfirst=True)[-1]
        else:
            result = solve_ivp(balance, (0, self.dt), self.y, args=(cooling,), rtol=1e-9, atol=1e-9)
            self.y = result.y[:, -1]
        self.t += 1
        return self.y.copy(), -abs(self.y[0] - 0.57), self.t >= 30


def episode(env, plan):
    total, over, i = 0.0, False, 0
    env.reset()
    while not over:
        _, reward, over = env.step(280.0 + 20.0 * plan[i])
        total += reward
        i += 1
    return total, i


def main():
    rng, env = np.random.default_rng(0), Reactor()
    mean, std = np.full(30, 0.5), np.full(30, 0.5)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        plans = np.clip(rng.normal(mean, std, (20, 30)), 0, 1.5)
        scores = np.empty(20)
        for k, plan in enumerate(plans):
            scores[k], n = episode(env, plan)
            steps += n
        elite = plans[np.argsort(scores)[-5:]]
        mean, std = 0.7 * mean + 0.3 * elite.mean(0), 0.7 * std + 0.3 * elite.std(0) + 0.01
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s, best {scores.max():.2f}")


main()
