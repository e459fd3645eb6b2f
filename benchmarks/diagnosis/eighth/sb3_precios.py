# plants: pandas-in-step @ hora = pd.to_datetime(
"""Operar con precios horarios: entorno propio sobre un DataFrame, DQN de Stable-Baselines3."""

import argparse
import time

import gymnasium as gym
import numpy as np
import pandas as pd
import torch
from stable_baselines3 import DQN


def fabrica(n=6000):
    g = np.random.default_rng(5)
    fechas = pd.date_range("2021-01-01", periods=n, freq="h").strftime("%d/%m/%Y %H:%M")
    precio = 100 * np.exp(np.cumsum(g.normal(0, 0.003, n)))
    return pd.DataFrame({"fecha": fechas, "cierre": precio, "volumen": g.gamma(2, 10, n)})


class Mercado(gym.Env):
    def __init__(self, datos, rapido):
        self.datos, self.rapido = datos, rapido
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (13,), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        if rapido:
            self.horas = pd.to_datetime(datos["fecha"], format="%d/%m/%Y %H:%M").dt.hour.to_numpy()
            self.cierres = datos["cierre"].to_numpy()

    def _obs(self):
        if self.rapido:
            h = self.horas[self.i]
            ventana = self.cierres[self.i - 10 : self.i]
        else:
            hora = pd.to_datetime(self.datos["fecha"].iloc[self.i], format="%d/%m/%Y %H:%M")
            h = hora.hour
            ventana = self.datos["cierre"].iloc[self.i - 10 : self.i].values
        ang = 2 * np.pi * h / 24
        rel = ventana / ventana[-1] - 1
        return np.array([*(100 * rel), np.sin(ang), np.cos(ang), self.pos], dtype=np.float32)

    def _precio(self, i):
        return self.cierres[i] if self.rapido else self.datos["cierre"].iloc[i]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.i = int(self.np_random.integers(10, len(self.datos) - 300))
        self.fin, self.pos = self.i + 250, 0
        return self._obs(), {}

    def step(self, accion):
        self.pos = int(accion) - 1
        cambio = self._precio(self.i + 1) / self._precio(self.i) - 1
        self.i += 1
        return self._obs(), 100 * float(self.pos * cambio), False, self.i >= self.fin, {}


def entrena():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--pasos", type=int, default=12000)
    op = ap.parse_args()
    torch.set_num_threads(1)
    env = Mercado(fabrica(), op.fixed)
    modelo = DQN(
        "MlpPolicy", env, learning_starts=500, train_freq=16, batch_size=64, buffer_size=20000,
        policy_kwargs={"net_arch": [64, 64]}, seed=1, device="cpu",
    )  # fmt: skip
    t = time.process_time()
    modelo.learn(op.pasos, log_interval=20)
    print(f"cpu {time.process_time() - t:.2f} work {op.pasos}")


entrena()
