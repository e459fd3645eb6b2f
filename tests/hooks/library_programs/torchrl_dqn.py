"""DQN with TorchRL's parts; prints what it did."""

import torch
from tensordict.nn import TensorDictSequential
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import Compose, GymEnv, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import MLP, EGreedyModule, QValueActor
from torchrl.objectives import DQNLoss, SoftUpdate

torch.set_num_threads(1)
torch.manual_seed(0)
env = TransformedEnv(
    GymEnv("CartPole-v1", categorical_action_encoding=True), Compose(StepCounter(), RewardSum())
)
env.set_seed(0)
actor = QValueActor(
    MLP(in_features=4, out_features=2, num_cells=[64, 64]),
    in_keys=["observation"],
    spec=env.action_spec,
)
explore = EGreedyModule(spec=env.action_spec, eps_init=0.5, annealing_num_steps=2000)
collector = Collector(
    env,
    TensorDictSequential(actor, explore),
    frames_per_batch=32,
    total_frames=3200,
    init_random_frames=320,
    auto_register_policy_transforms=False,
)
buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(5000), batch_size=64)
loss_module = DQNLoss(actor, delay_value=True, action_space=env.action_spec)
loss_module.make_value_estimator(gamma=0.99)
target = SoftUpdate(loss_module, eps=0.99)
optimizer = torch.optim.Adam(loss_module.parameters(), lr=1e-3)
frames = episodes = updates = rows = 0
for number, data in enumerate(collector):
    frames += data.numel()
    episodes += int(data["next", "done"].sum())
    buffer.extend(data.reshape(-1))
    explore.step(data.numel())
    for _ in range(4 if number >= 10 else 0):
        part = buffer.sample()
        loss_module(part)["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
        target.step()
        updates += 1
        rows += len(part)
collector.shutdown()
print(frames, episodes, updates, rows)
