# plants: growing-step-cost @ arr = np.asarray(self._verlauf)
import argparse
import time

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv


class Handelsplatz(gym.Env):
    """Ein Papier, drei Aktionen: verkaufen, halten, kaufen."""

    def __init__(self, laenge=4000, saat=0):
        self.laenge = laenge
        self.rng = np.random.default_rng(saat)
        self.observation_space = spaces.Box(-np.inf, np.inf, (12,), np.float32)
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        rauschen = self.rng.normal(0, 0.01, self.laenge + 16)
        self.rendite = np.zeros(self.laenge + 16)
        for i in range(1, self.laenge + 16):
            self.rendite[i] = 0.6 * self.rendite[i - 1] + rauschen[i]
        self.t, self.bestand = 10, 0
        return self._sicht(), {}

    def _sicht(self):
        return np.concatenate([self.rendite[self.t - 10:self.t] * 50, [self.bestand, 1.0]]).astype(np.float32)

    def step(self, aktion):
        neu = int(aktion) - 1
        kosten = 0.0005 * abs(neu - self.bestand)
        self.bestand = neu
        gewinn = self.bestand * self.rendite[self.t] - kosten
        self.t += 1
        return self._sicht(), float(gewinn * 100), False, self.t >= self.laenge + 10, {}


class Kennzahl(gym.Wrapper):
    """Grundlage aller Kennzahlen, die neben der Belohnung mitlaufen."""

    def __init__(self, env):
        super().__init__(env)
        self._verlauf = []

    def kennzahl(self):
        raise NotImplementedError

    def step(self, aktion):
        s, r, a, b, info = self.env.step(aktion)
        self._verlauf.append(r)
        k = self.kennzahl()
        info["kennzahl"] = k
        return s, r - 0.01 * max(0.0, -k), a, b, info


class Sharpe(Kennzahl):
    def kennzahl(self):
        arr = np.asarray(self._verlauf)
        return float(arr.mean() / (arr.std() + 1e-8))


class SharpeLaufend(Kennzahl):
    n, s, q = 0, 0.0, 0.0

    def kennzahl(self):
        r = self._verlauf.pop()
        self.n, self.s, self.q = self.n + 1, self.s + r, self.q + r * r
        m = self.s / self.n
        return m / (max(self.q / self.n - m * m, 0.0) ** 0.5 + 1e-8)


class Protokoll(BaseCallback):
    def _on_step(self):
        return True

    def _on_rollout_end(self):
        self.logger.record("rollout/wert", float(self.model.rollout_buffer.values.mean()))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--schritte", type=int, default=40000)
    a = p.parse_args()
    torch.set_num_threads(1)
    huelle = SharpeLaufend if a.fixed else Sharpe
    umgebung = DummyVecEnv([lambda s=s: Monitor(huelle(Handelsplatz(saat=s))) for s in range(4)])
    modell = A2C("MlpPolicy", umgebung, n_steps=16, learning_rate=7e-4, seed=1, device="cpu")
    t0 = time.perf_counter()
    modell.learn(a.schritte, callback=Protokoll())
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={modell.num_timesteps}")


if __name__ == "__main__":
    main()
