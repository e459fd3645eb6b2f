# plants: reset-leak @ self.signal.listeners.append
"""Stable-Baselines3 A2C on a traffic crossing whose signals keep listeners. (reset-leak)"""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import A2C

torch.set_num_threads(1)
CLEAN = "--fixed" in sys.argv


class Signal:
    def __init__(self):
        self.listeners = []

    def emit(self, value):
        for call in self.listeners:
            call(value)


class Car:
    def __init__(self, lane):
        self.lane, self.waited = lane, 0

    def on_light(self, green):
        if green != self.lane:
            self.waited += 1


class Crossing(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (6,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self):
        self.signal = Signal()
        self.cars = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if CLEAN:
            self.signal.listeners.clear()
        self.cars = [Car(int(self.np_random.integers(2))) for _ in range(40)]
        for car in self.cars:
            self.signal.listeners.append(car.on_light)
        self.t = 0
        return self.view(), {}

    def view(self):
        w = np.array([sum(c.waited for c in self.cars if c.lane == k) for k in (0, 1)], np.float32)
        return np.clip(np.concatenate([w / 500, w / 1000, [self.t / 20, 0.0]]), -1, 1).astype(
            np.float32
        )

    def step(self, action):
        self.signal.emit(int(action))
        self.t += 1
        reward = -sum(c.waited for c in self.cars) / 1000
        return self.view(), reward, False, self.t >= 20, {}


if __name__ == "__main__":
    model = A2C("MlpPolicy", Crossing(), n_steps=32, device="cpu", seed=0)
    total = 10000
    start = time.perf_counter()
    model.learn(total)
    print(f"{model.num_timesteps / (time.perf_counter() - start):.1f} steps/s")
