"""A short PPO with a TensorBoard log and a CSV file; prints what its weights came to."""

import hashlib
import sys

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.logger import configure


class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 40
        return self.np_random.random(4, dtype=np.float32), {}

    def step(self, action):
        self.left -= 1
        return self.np_random.random(4, dtype=np.float32), float(action), self.left == 0, False, {}


def train(steps=16384, callback=None, folder="log"):
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", Corridor(), n_steps=1024, n_epochs=4, seed=3, device="cpu")
    model.set_logger(configure(folder, ["tensorboard", "csv"]))
    model.learn(steps, callback=callback)
    return model


def weights(model):
    state = b"".join(p.detach().numpy().tobytes() for p in model.policy.parameters())
    return hashlib.sha256(state).hexdigest()


if __name__ == "__main__":
    print(weights(train(int(sys.argv[1]))))
