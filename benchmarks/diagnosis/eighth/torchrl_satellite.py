# plants: deepcopy-in-step @ limits = copy.deepcopy(self.settings)["limits"]
"""Attitude control in TorchRL: a native batch environment with a nested settings dict."""

import argparse
import copy
import time
import warnings

warnings.filterwarnings("ignore")
import torch
from tensordict import TensorDict
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import Bounded, Composite, LazyTensorStorage, TensorDictReplayBuffer, Unbounded
from torchrl.data.replay_buffers import SamplerWithoutReplacement
from torchrl.envs import EnvBase
from torchrl.modules import ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE


def default_settings():
    wheel = {"inertia": [0.9, 1.1, 1.0], "friction": {"viscous": 0.02, "static": 0.001}}
    return {
        "wheels": {f"wheel_{i}": copy.deepcopy(wheel) for i in range(40)},
        "limits": {"torque": 0.6, "rate": 2.5},
        "panels": [{"name": f"panel {i}", "area": [1.0, 2.0 + i], "tags": ["a", "b"]} for i in range(60)],
        "dt": 0.1,
    }


class Satellite(EnvBase):
    def __init__(self, count, share):
        super().__init__(batch_size=[count])
        self.settings, self.share = default_settings(), share
        self.observation_spec = Composite(
            observation=Unbounded((count, 6)), shape=(count,)
        )
        self.action_spec = Bounded(-1.0, 1.0, (count, 3))
        self.reward_spec = Unbounded((count, 1))

    def _limits(self):
        if self.share:
            return self.settings["limits"]
        limits = copy.deepcopy(self.settings)["limits"]
        return limits

    def _reset(self, tensordict=None, **kwargs):
        self.clock = 0
        observation = torch.randn(*self.batch_size, 6) * 0.5
        ended = torch.zeros(*self.batch_size, 1, dtype=torch.bool)
        return TensorDict(
            {"observation": observation, "done": ended, "terminated": ended.clone()}, self.batch_size
        )

    def _step(self, tensordict):
        limits = self._limits()
        angle, rate = tensordict["observation"].chunk(2, -1)
        torque = tensordict["action"] * limits["torque"]
        rate = (rate + self.settings["dt"] * torque).clamp(-limits["rate"], limits["rate"])
        angle = angle + self.settings["dt"] * rate
        self.clock += 1
        reward = -(angle.square().sum(-1, keepdim=True) + 0.1 * rate.square().sum(-1, keepdim=True))
        ended = torch.full((*self.batch_size, 1), self.clock % 100 == 0)
        return TensorDict(
            {
                "observation": torch.cat([angle, rate], -1),
                "reward": reward,
                "done": ended,
                "terminated": torch.zeros_like(ended),
            },
            self.batch_size,
        )

    def _set_seed(self, seed):
        torch.manual_seed(seed or 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--batches", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    count, length = 8, 100
    env = Satellite(count, options.fixed)
    policy = ProbabilisticActor(
        TensorDictModule(
            nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 6), NormalParamExtractor()),
            in_keys=["observation"],
            out_keys=["loc", "scale"],
        ),
        in_keys=["loc", "scale"],
        distribution_class=TanhNormal,
        return_log_prob=True,
    )
    value = ValueOperator(nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 1)), ["observation"])
    advantage = GAE(gamma=0.98, lmbda=0.95, value_network=value, vectorized=True)
    objective = ClipPPOLoss(policy, value, entropy_coeff=0.001)
    optimizer = torch.optim.Adam(objective.parameters(), 1e-3, fused=True)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(count * length), sampler=SamplerWithoutReplacement(), batch_size=200
    )
    frames = count * length
    collector = Collector(env, policy, frames_per_batch=frames, total_frames=frames * options.batches)
    begin = time.process_time()
    for at, data in enumerate(collector):
        with torch.no_grad():
            data = advantage(data)
        for _ in range(4):
            buffer.extend(data.reshape(-1))
            for _ in range(frames // 200):
                loss = objective(buffer.sample())
                total = loss["loss_objective"] + loss["loss_critic"] + loss["loss_entropy"]
                optimizer.zero_grad()
                total.backward()
                optimizer.step()
        if at % 5 == 0:
            print(at, "reward", data["next", "reward"].mean().item())
    print(f"cpu {time.process_time() - begin:.2f} work {options.batches * frames}")


if __name__ == "__main__":
    main()
