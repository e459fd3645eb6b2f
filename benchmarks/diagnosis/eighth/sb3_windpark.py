# plants: nothing
"""Wind farm yaw control with Stable-Baselines3: one VecEnv that steps all farms in NumPy."""

import time

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

FARMS, TURBINES = 64, 6


class WindFarms(VecEnv):
    def __init__(self):
        obs = spaces.Box(-np.inf, np.inf, (TURBINES * 2 + 2,), np.float32)
        act = spaces.Box(-1, 1, (TURBINES,), np.float32)
        super().__init__(FARMS, obs, act)
        self.rng = np.random.default_rng(0)
        place = np.arange(TURBINES)
        self.behind = np.tril(1.0 / (1 + place[:, None] - place[None]), -1).clip(0)

    def _fresh(self, n):
        return self.rng.uniform(-0.3, 0.3, (n, TURBINES)), self.rng.uniform(6, 12, n)

    def reset(self):
        self.yaw, self.wind = self._fresh(FARMS)
        self.direction, self.clock = np.zeros(FARMS), np.zeros(FARMS, int)
        return self._look()

    def _look(self):
        error = self.yaw - self.direction[:, None]
        rest = np.stack([self.wind / 10, self.direction], 1)
        return np.concatenate([np.sin(error), np.cos(error), rest], 1).astype(np.float32)

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        self.yaw = self.yaw + 0.1 * self.actions
        self.direction = self.direction + self.rng.normal(0, 0.02, FARMS)
        self.wind = np.clip(self.wind + self.rng.normal(0, 0.1, FARMS), 4, 14)
        error = self.yaw - self.direction[:, None]
        caught = np.cos(error) ** 3
        flow = self.wind[:, None] * (1 - 0.3 * np.tanh(caught @ self.behind.T))
        reward = (flow**3 * caught).sum(1) / 5000
        self.clock += 1
        done = self.clock >= 128
        infos = [{} for _ in range(FARMS)]
        if done.any():
            last = self._look()
            for i in np.flatnonzero(done):
                infos[i] = {"terminal_observation": last[i], "TimeLimit.truncated": True}
            self.yaw[done], self.wind[done] = self._fresh(int(done.sum()))
            self.direction[done], self.clock[done] = 0, 0
        return self._look(), reward.astype(np.float32), done, infos

    def close(self):
        pass

    def get_attr(self, name, indices=None):
        return [getattr(self, name, None)] * FARMS

    def set_attr(self, name, value, indices=None):
        setattr(self, name, value)

    def env_method(self, name, *args, indices=None, **kwargs):
        return [None] * FARMS

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * FARMS


class Progress(BaseCallback):
    def _on_step(self):
        return True

    def _on_rollout_end(self):
        print(self.num_timesteps)


if __name__ == "__main__":
    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy",
        VecMonitor(WindFarms()),
        n_steps=64,
        batch_size=1024,
        n_epochs=8,
        policy_kwargs={"net_arch": [256, 256]},
        device="cpu",
        seed=0,
    )
    t0 = time.process_time()
    model.learn(49152, callback=Progress())
    print(f"cpu {time.process_time() - t0:.2f} work 49152")
