"""PPO with TorchRL's parts on CartPole, the loop as in its tutorials."""

import measured

measured.without_tensorflow()

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
FRAMES, ROWS = 512, 64
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
    frames_per_batch=FRAMES,
    total_frames=measured.steps(6656),
    auto_register_policy_transforms=False,
)
advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
loss_module = ClipPPOLoss(actor, critic, clip_epsilon=0.2)
buffer = ReplayBuffer(
    storage=LazyTensorStorage(FRAMES), sampler=SamplerWithoutReplacement(), batch_size=ROWS
)
optimizer = torch.optim.Adam(loss_module.parameters(), lr=3e-4)
# timers| import hand_timers
# timers| hand_timers.around(env, "step", "env.step")
# timers| hand_timers.around(collector, "_wrapped_policy", "policy.act")
measured.turns(32, step=env)
measured.turns(8, step=optimizer)
measured.first_step(env)
# torch.profiler| from torch.profiler import ProfilerActivity, profile
# torch.profiler| profiler = profile(activities=[ProfilerActivity.CPU])
# torch.profiler| profiler.start()
with measured.loop():
    # timers| hand_timers.enter("collect")
    for data in collector:
        # timers| hand_timers.leave()
        for _ in range(4):
            # timers| hand_timers.enter("advantage")
            advantage(data)
            # timers| hand_timers.leave()
            # timers| hand_timers.enter("buffer.add")
            buffer.extend(data.reshape(-1))
            # timers| hand_timers.leave()
            for _ in range(FRAMES // ROWS):
                # timers| hand_timers.enter("buffer.sample")
                part = buffer.sample()
                # timers| hand_timers.leave()
                # timers| hand_timers.enter("learn.loss")
                losses = loss_module(part)
                loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                # timers| hand_timers.leave()
                # timers| hand_timers.enter("learn.backward")
                loss.backward()
                # timers| hand_timers.leave()
                # timers| hand_timers.enter("learn.optimizer")
                torch.nn.utils.clip_grad_norm_(loss_module.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                # timers| hand_timers.leave()
        # timers| hand_timers.enter("collect")
    # timers| hand_timers.leave()
# torch.profiler| profiler.stop()
# torch.profiler| profiler.key_averages()
collector.shutdown()
# timers| hand_timers.show()
