"""QR-DQN (sb3-contrib) for a shelf robot, with a history wrapper and a CSV trace of the training."""

# plants: deepcopy-in-step @ info["history"] = copy.deepcopy(self.states)
# plants: logging @ self.logger.dump(self.num_timesteps)
import argparse
import copy
import tempfile
import time

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import QRDQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.logger import configure


class ShelfRobot(gym.Env):
    """Fetch the items of an order from a grid of shelves."""

    def __init__(self, size=10, items=4):
        self.size, self.items = size, items
        self.observation_space = spaces.Box(-1, 1, (2 + 3 * items,), np.float32)
        self.action_space = spaces.Discrete(4)

    def _state(self):
        return {
            "robot": self.robot,
            "order": {
                f"item{i}": {"cell": c, "picked": p}
                for i, (c, p) in enumerate(zip(self.cells, self.picked))
            },
            "t": self.t,
        }

    def _obs(self):
        rel = (np.array(self.cells) - self.robot) / self.size
        rel[np.array(self.picked)] = 0
        return np.concatenate([np.array(self.robot) / self.size, rel.ravel(), self.picked]).astype(
            np.float32
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.robot = [int(v) for v in self.np_random.integers(0, self.size, 2)]
        self.cells = self.np_random.integers(0, self.size, (self.items, 2)).tolist()
        self.picked = [False] * self.items
        self.t = 0
        return self._obs(), {"state": self._state()}

    def step(self, action):
        axis, sign = divmod(int(action), 2)
        self.robot[axis] = min(self.size - 1, max(0, self.robot[axis] + 2 * sign - 1))
        self.t += 1
        reward = -0.05
        for i, c in enumerate(self.cells):
            if not self.picked[i] and c == self.robot:
                self.picked[i] = True
                reward += 1.0
        return self._obs(), reward, all(self.picked), self.t >= 150, {"state": self._state()}


class History(gym.Wrapper):
    """The states of the last steps, so that a finished episode can be inspected."""

    def __init__(self, env, keep=8, light=False):
        super().__init__(env)
        self.keep, self.light = keep, light
        self.states = []

    def reset(self, **kwargs):
        obs, info = self.env.reset(**kwargs)
        self.states = []
        return obs, info

    def step(self, action):
        obs, reward, terminated, truncated, info = self.env.step(action)
        if self.light:
            self.states = (
                self.states + [(tuple(info["state"]["robot"]), tuple(self.unwrapped.picked))]
            )[-self.keep :]
            info["history"] = self.states
        else:
            self.states = (self.states + [info["state"]])[-self.keep :]
            info["history"] = copy.deepcopy(self.states)
        return obs, reward, terminated, truncated, info


class Trace(BaseCallback):
    """Writes the course of the training to progress.csv, progress.json and TensorBoard."""

    def __init__(self, every):
        super().__init__()
        self.every = every

    def _on_step(self):
        self.logger.record("trace/reward", float(self.locals["rewards"][0]))
        self.logger.record("trace/epsilon", float(self.model.exploration_rate))
        self.logger.record("trace/episodes", len(self.model.ep_info_buffer))
        if self.num_timesteps % self.every == 0:
            self.logger.dump(self.num_timesteps)
        return True


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=15000)
    ap.add_argument("--fixed", nargs="?", const="ab", default="")
    args = ap.parse_args()
    torch.set_num_threads(1)
    env = Monitor(History(ShelfRobot(), light="a" in args.fixed))
    model = QRDQN(
        "MlpPolicy",
        env,
        buffer_size=50_000,
        learning_starts=1000,
        batch_size=64,
        train_freq=16,
        learning_rate=5e-4,
        seed=0,
        device="cpu",
        policy_kwargs=dict(n_quantiles=16, net_arch=[64, 64], optimizer_kwargs=dict(fused=True)),
    )
    with tempfile.TemporaryDirectory() as d:
        model.set_logger(configure(d, ["csv", "json", "tensorboard"]))
        trace = Trace(every=1000 if "b" in args.fixed else 1)
        start = time.perf_counter()
        model.learn(args.steps, callback=trace)
        took = time.perf_counter() - start
    print("episodes' mean reward", np.mean([e["r"] for e in model.ep_info_buffer] or [0.0]))
    print(f"loop_s {took:.3f} steps {model.num_timesteps}")


if __name__ == "__main__":
    main()
