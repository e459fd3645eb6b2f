"""PPO with TorchRL's parts; prints what it did and a hash of the weights."""

import hashlib

import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.envs import Compose, DoubleToFloat, GymEnv, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import MLP, OneHotCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

torch.set_num_threads(1)
torch.manual_seed(0)
env = TransformedEnv(GymEnv("CartPole-v1"), Compose(DoubleToFloat(), StepCounter(), RewardSum()))
env.set_seed(0)
logits = TensorDictModule(
    MLP(in_features=4, out_features=2, num_cells=[64, 64]),
    in_keys=["observation"],
    out_keys=["logits"],
)
actor = ProbabilisticActor(
    logits, in_keys=["logits"], distribution_class=OneHotCategorical, return_log_prob=True
)
critic = ValueOperator(
    MLP(in_features=4, out_features=1, num_cells=[64, 64]), in_keys=["observation"]
)
collector = Collector(
    env,
    actor,
    frames_per_batch=512,
    total_frames=512 * 6,
    auto_register_policy_transforms=False,
)
advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
loss_module = ClipPPOLoss(actor, critic, clip_epsilon=0.2)
buffer = ReplayBuffer(
    storage=LazyTensorStorage(512), sampler=SamplerWithoutReplacement(), batch_size=64
)
optimizer = torch.optim.Adam(loss_module.parameters(), lr=3e-4)
frames = episodes = updates = rows = 0
for data in collector:
    frames += data.numel()
    episodes += int(data["next", "done"].sum())
    for _ in range(4):
        advantage(data)
        buffer.extend(data.reshape(-1))
        for _ in range(512 // 64):
            part = buffer.sample()
            losses = loss_module(part)
            loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
            loss.backward()
            torch.nn.utils.clip_grad_norm_(loss_module.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
            rows += len(part)
collector.shutdown()
weights = b"".join(p.detach().numpy().tobytes() for p in loss_module.parameters())
print(frames, episodes, updates, rows, hashlib.sha256(weights).hexdigest())
