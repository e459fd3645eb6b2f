# plants: evaluation @ mean, std = evaluate_policy(self.model, self.eval_env, n_eval_episodes=self.episodes)
import argparse
import os
import tempfile
import time

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor


class DockEnv(gym.Env):
    """A boat that has to stop at the quay: thrust back, none, forward, or turn left/right."""

    metadata = {"render_modes": []}

    def __init__(self, limit=120):
        self.limit = limit
        self.action_space = spaces.Discrete(5)
        self.observation_space = spaces.Box(-10, 10, (6,), np.float32)

    def _get(self):
        return np.array(
            [self.x, self.y, self.vx, self.vy, np.cos(self.h), np.sin(self.h)], dtype=np.float32
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.y = self.np_random.uniform(-3, 3, 2)
        self.vx = self.vy = 0.0
        self.h = self.np_random.uniform(-np.pi, np.pi)
        self.n = 0
        return self._get(), {}

    def step(self, action):
        thrust = {0: -0.05, 2: 0.1}.get(int(action), 0.0)
        self.h += {3: 0.2, 4: -0.2}.get(int(action), 0.0)
        self.vx = 0.96 * self.vx + thrust * np.cos(self.h)
        self.vy = 0.96 * self.vy + thrust * np.sin(self.h)
        self.x = float(np.clip(self.x + 0.3 * self.vx, -5, 5))
        self.y = float(np.clip(self.y + 0.3 * self.vy, -5, 5))
        self.n += 1
        d = float(np.hypot(self.x, self.y))
        done = d < 0.2 and abs(self.vx) + abs(self.vy) < 0.1
        return self._get(), (10.0 if done else -0.1 * d), done, self.n >= self.limit, {}


class KeepBest(BaseCallback):
    """Plays with the greedy policy now and then and keeps the best weights."""

    def __init__(self, eval_env, every, episodes, folder):
        super().__init__()
        self.eval_env = eval_env
        self.every = every
        self.episodes = episodes
        self.folder = folder
        self.best = -np.inf
        self.curve = []

    def _on_step(self):
        if self.n_calls % self.every == 0:
            mean, std = evaluate_policy(self.model, self.eval_env, n_eval_episodes=self.episodes)
            self.curve.append((self.num_timesteps, mean, std))
            self.logger.record("keep_best/mean", mean)
            if mean > self.best:
                self.best = mean
                self.model.policy.save(os.path.join(self.folder, "best.pt"))
        return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=11000)
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)

    every, episodes = (6000, 5) if args.fixed else (500, 10)
    with tempfile.TemporaryDirectory() as folder:
        model = DQN(
            "MlpPolicy",
            Monitor(DockEnv()),
            learning_rate=5e-4,
            buffer_size=50_000,
            learning_starts=500,
            batch_size=64,
            train_freq=4,
            target_update_interval=500,
            exploration_fraction=0.3,
            policy_kwargs=dict(net_arch=[128, 128], optimizer_kwargs=dict(fused=True)),
            seed=3,
            device="cpu",
        )
        callback = KeepBest(Monitor(DockEnv()), every, episodes, folder)
        begin = time.perf_counter()
        model.learn(args.steps, callback=callback)
        seconds = time.perf_counter() - begin
    for point in callback.curve[-3:]:
        print("greedy return at %d: %.2f +- %.2f" % point)
    print(f"loop_s {seconds:.3f} steps {model.num_timesteps}")


if __name__ == "__main__":
    main()
