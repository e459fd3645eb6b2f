"""TorchRL's collector around CartPole: the stack costs many times the environment."""

# plants: framework-overhead
import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import Compose, DoubleToFloat, GymEnv, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

torch.set_num_threads(1)
env = TransformedEnv(GymEnv("CartPole-v1"), Compose(DoubleToFloat(), StepCounter(), RewardSum()))
actor = ProbabilisticActor(
    TensorDictModule(MLP(4, 2, num_cells=[32, 32]), ["observation"], ["logits"]),
    in_keys=["logits"],
    spec=env.action_spec,
    distribution_class=torch.distributions.OneHotCategorical,
    return_log_prob=True,
)
critic = ValueOperator(MLP(4, 1, num_cells=[32, 32]))
advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
loss_of = ClipPPOLoss(actor, critic)
optimizer = torch.optim.Adam(loss_of.parameters(), 3e-4, fused=True)
for batch in Collector(env, actor, frames_per_batch=500, total_frames=4000):
    advantage(batch)
    for _ in range(4):
        for part in batch.reshape(-1).split(125):
            losses = loss_of(part)
            optimizer.zero_grad()
            sum(losses[k] for k in losses.keys() if k.startswith("loss_")).backward()
            optimizer.step()
