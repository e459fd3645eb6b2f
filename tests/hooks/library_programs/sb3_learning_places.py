"""Keeps the loss and the replay buffer of a DQN busy: seconds a call for both are given."""

import sys

import torch
from busy import busy
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from torch.nn import functional


def slower(owner, name, seconds, place):
    plain = getattr(owner, name)

    def call(*args, **kwargs):
        busy(float(seconds), place)
        return plain(*args, **kwargs)

    setattr(owner, name, call)


slower(functional, "smooth_l1_loss", sys.argv[1], "learn.loss")
slower(ReplayBuffer, "_get_samples", sys.argv[2], "buffer.sample")
torch.set_num_threads(1)
model = DQN("MlpPolicy", "CartPole-v1", learning_starts=100, train_freq=2, seed=1, device="cpu")
model.learn(900)
