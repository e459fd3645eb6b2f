# plants: evaluation @ self._pruefe()
"""Ein Kran schwingt eine Last; PPO aus Stable-Baselines3, mit eigener Rückmeldung."""

import argparse
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env


class Kran(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.z = self.np_random.uniform(-0.3, 0.3, 4).astype(np.float32)
        self.n = 0
        return self.z.copy(), {}

    def step(self, action):
        x, v, w, dw = self.z
        kraft = (action - 1) * 2.0
        beschl = kraft - 0.1 * v
        ddw = -9.81 * np.sin(w) - beschl * np.cos(w) - 0.05 * dw
        self.z = np.array(
            [x + 0.02 * v, v + 0.02 * beschl, w + 0.02 * dw, dw + 0.02 * ddw], np.float32
        )
        self.n += 1
        lohn = 1.0 - abs(float(x)) - abs(float(w))
        return self.z.copy(), lohn, bool(abs(x) > 3), self.n >= 200, {}


class Pruefer(BaseCallback):
    """Merkt sich das beste Netz: nach so vielen Schritten ein paar Läufe ohne Zufall."""

    def __init__(self, jede, laeufe):
        super().__init__()
        self.jede, self.laeufe, self.bestes = jede, laeufe, -np.inf
        self.kran = Kran()

    def _on_step(self):
        if self.n_calls % self.jede == 0:
            self._pruefe()
        return True

    def _pruefe(self):
        summe = 0.0
        for lauf in range(self.laeufe):
            s, _ = self.kran.reset(seed=lauf)
            ende = False
            while not ende:
                a, _ = self.model.predict(s, deterministic=True)
                s, lohn, fertig, abbruch, _ = self.kran.step(int(a))
                summe += lohn
                ende = fertig or abbruch
        self.bestes = max(self.bestes, summe / self.laeufe)
        self.logger.record("pruefung/lohn", summe / self.laeufe)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--schritte", type=int, default=16384)
    a = p.parse_args()
    torch.set_num_threads(1)
    umgebung = make_vec_env(Kran, n_envs=8, seed=0)
    modell = PPO("MlpPolicy", umgebung, n_steps=128, batch_size=256, n_epochs=4, device="cpu")
    pruefer = Pruefer(jede=1000 if a.fixed else 100, laeufe=1)
    t = time.process_time()
    modell.learn(a.schritte, callback=pruefer)
    print("bestes", pruefer.bestes)
    print(f"cpu {time.process_time() - t:.2f} work {a.schritte}")
