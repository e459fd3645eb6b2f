"""Keeps places of a training busy: seconds a call for each of them, and a folder, are given."""

import sys

import torch
from busy import busy
from gymnasium.envs.classic_control import CartPoleEnv
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import GymWrapper
from torchrl.modules import QValueActor
from torchrl.objectives import DQNLoss
from torchrl.record.loggers import CSVLogger

IN_ENV, IN_POLICY, IN_BUFFER, IN_LOSS, IN_OPTIMIZER, IN_LOG = map(float, sys.argv[1:7])
learning = False


class Slow(CartPoleEnv):
    def step(self, action):
        busy(IN_ENV, "env.step")
        return super().step(action)


class Net(nn.Sequential):
    def forward(self, x):
        if not learning:
            busy(IN_POLICY, "policy.act")
        return super().forward(x)


class Buffer(TensorDictReplayBuffer):
    def sample(self, *args, **kwargs):
        busy(IN_BUFFER, "buffer.sample")
        return super().sample(*args, **kwargs)


class Loss(DQNLoss):
    def forward(self, data):
        busy(IN_LOSS, "learn.loss")
        return super().forward(data)


class Adam(torch.optim.Adam):
    def step(self, closure=None):
        busy(IN_OPTIMIZER, "learn.optimizer")
        return super().step(closure)


class Log(CSVLogger):
    def log_scalar(self, name, value, step=None):
        busy(IN_LOG, "log")
        return super().log_scalar(name, value, step)


torch.set_num_threads(1)
torch.manual_seed(0)
env = GymWrapper(Slow(), categorical_action_encoding=True)
env.set_seed(0)
net = Net(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
actor = QValueActor(net, in_keys=["observation"], spec=env.action_spec)
collector = Collector(
    env, actor, frames_per_batch=20, total_frames=200, auto_register_policy_transforms=False
)
buffer = Buffer(storage=LazyTensorStorage(500), batch_size=16)
loss_module = Loss(actor, delay_value=False, action_space=env.action_spec)
loss_module.make_value_estimator(gamma=0.99)
optimizer = Adam(loss_module.parameters(), lr=1e-3)
log = Log("places", log_dir=sys.argv[7])
for data in collector:
    buffer.extend(data.reshape(-1))
    learning = True
    for _ in range(4):
        loss = loss_module(buffer.sample())["loss"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log.log_scalar("loss", loss.item())
    learning = False
collector.shutdown()
