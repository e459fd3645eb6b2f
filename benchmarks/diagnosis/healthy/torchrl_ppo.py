"""TorchRL PPO with its own collector, advantage and loss."""

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, ReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import GymEnv, SerialEnv
from torchrl.modules import OneHotCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

FRAMES, TOTAL = 512, 4096


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env = SerialEnv(4, lambda: GymEnv("CartPole-v1"))
    body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    actor = ProbabilisticActor(
        TensorDictModule(body, ["observation"], ["logits"]), in_keys=["logits"],
        distribution_class=OneHotCategorical, return_log_prob=True,
    )  # fmt: skip
    critic = ValueOperator(nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1)),
                           in_keys=["observation"])  # fmt: skip
    collector = Collector(env, actor, frames_per_batch=FRAMES, total_frames=TOTAL)
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    loss = ClipPPOLoss(actor, critic)
    optimizer = torch.optim.Adam(loss.parameters(), 3e-4)
    buffer = ReplayBuffer(
        storage=LazyTensorStorage(FRAMES), sampler=SamplerWithoutReplacement(), batch_size=128
    )
    for data in collector:
        advantage(data)
        buffer.extend(data.reshape(-1))
        for _ in range(4 * FRAMES // 128):
            parts = loss(buffer.sample())
            total = parts["loss_objective"] + parts["loss_critic"] + parts["loss_entropy"]
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    collector.shutdown()


if __name__ == "__main__":
    main()
