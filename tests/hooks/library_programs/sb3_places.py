"""Keeps places of a training busy: seconds a call for each of them are given."""

import sys

import gymnasium as gym
import torch
from busy import busy
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.policies import ActorCriticPolicy

IN_ENV, IN_POLICY, IN_FORWARD, IN_BUFFER, IN_OPTIMIZER, IN_LOG = map(float, sys.argv[1:7])


class Slow(gym.Wrapper):
    def step(self, action):
        busy(IN_ENV, "env.step")
        return self.env.step(action)


class Policy(ActorCriticPolicy):
    def forward(self, *args, **kwargs):
        busy(IN_POLICY, "policy.act")
        return super().forward(*args, **kwargs)

    def evaluate_actions(self, *args, **kwargs):
        busy(IN_FORWARD, "learn.forward")
        return super().evaluate_actions(*args, **kwargs)


class Buffer(RolloutBuffer):
    def add(self, *args, **kwargs):
        busy(IN_BUFFER, "buffer.add")
        super().add(*args, **kwargs)


class Adam(torch.optim.Adam):
    def step(self, *args, **kwargs):
        busy(IN_OPTIMIZER, "learn.optimizer")
        return super().step(*args, **kwargs)


class Writer(KVWriter):
    def write(self, *args, **kwargs):
        busy(IN_LOG, "log")

    def close(self):
        pass


torch.set_num_threads(1)
model = PPO(
    Policy,
    Slow(gym.make("CartPole-v1")),
    n_steps=128,
    seed=3,
    device="cpu",
    policy_kwargs={"optimizer_class": Adam},
    rollout_buffer_class=Buffer,
)
model.set_logger(Logger(None, [Writer()]))
model.learn(256)
