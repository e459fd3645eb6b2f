"""Compiles a loss, a policy and an environment; prints how often each graph broke."""

import torch
import torch._dynamo as dynamo
from torchrl.envs import GymEnv, PendulumEnv
from torchrl.modules import MLP, QValueActor
from torchrl.objectives import DQNLoss


def breaks():
    return sum(dynamo.utils.counters["graph_break"].values())


def start():
    dynamo.reset()
    dynamo.utils.counters.clear()


torch.set_num_threads(1)
torch.manual_seed(0)
env = GymEnv("CartPole-v1", categorical_action_encoding=True)
env.set_seed(0)
net = MLP(in_features=4, out_features=2, num_cells=[32])
actor = QValueActor(net, in_keys=["observation"], spec=env.action_spec)
loss_module = DQNLoss(actor, action_space=env.action_spec, delay_value=False)
loss_module.make_value_estimator(gamma=0.99)
data = env.rollout(40, actor)

start()
loss = torch.compile(lambda td: loss_module(td)["loss"], backend="eager")(data)
print("loss", breaks(), loss.item())
start()
torch.compile(actor, backend="eager", fullgraph=True)(env.reset())
print("actor", breaks())
start()
pendulum = PendulumEnv().compile(backend="eager")
td = pendulum.reset(set_state=False)
for _ in range(3):
    pendulum.rand_action(td)
    _, td = pendulum.step_and_maybe_reset(td)
print("environment", breaks())
