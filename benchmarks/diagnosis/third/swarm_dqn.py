"""DQN with TorchRL on a batch of damped-spring agents that are simulated together."""

# plants: per-item-buffer-push @ memory.add(transition)
import argparse
import time

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.data import Bounded, Composite, LazyTensorStorage, OneHot, ReplayBuffer, Unbounded
from torchrl.data.replay_buffers.samplers import RandomSampler
from torchrl.envs import EnvBase
from torchrl.modules import EGreedyModule, QValueActor
from torchrl.objectives import DQNLoss, SoftUpdate


class SpringSwarm(EnvBase):
    """Each agent pushes left, nothing or right, and should stay near its moving target."""

    def __init__(self, n, seed=0):
        super().__init__(device="cpu", batch_size=torch.Size([n]))
        self.n = n
        self.gen = torch.Generator().manual_seed(seed)
        shape = torch.Size([n])
        self.observation_spec = Composite(observation=Unbounded((n, 4)), shape=shape)
        self.action_spec = OneHot(3, shape=(n, 3))
        self.reward_spec = Unbounded((n, 1))
        self.done_spec = Bounded(0, 1, shape=(n, 1), dtype=torch.bool)

    def _observe(self):
        return torch.stack([self.x, self.v, self.target, self.target - self.x], -1)

    def _reset(self, tensordict=None):
        self.x = torch.randn(self.n, generator=self.gen)
        self.v = torch.zeros(self.n)
        self.target = torch.randn(self.n, generator=self.gen)
        self.t = 0
        done = torch.zeros(self.n, 1, dtype=torch.bool)
        return TensorDict(
            {"observation": self._observe(), "done": done, "terminated": done.clone()},
            self.batch_size,
        )

    def _step(self, tensordict):
        force = tensordict["action"].float().argmax(-1) - 1.0
        self.v = 0.9 * self.v + 0.1 * force - 0.02 * self.x
        self.x = self.x + 0.2 * self.v
        self.target = self.target + 0.02 * torch.randn(self.n, generator=self.gen)
        self.t += 1
        reward = -(self.target - self.x).abs().unsqueeze(-1)
        done = torch.full((self.n, 1), self.t >= 100)
        return TensorDict(
            {
                "observation": self._observe(),
                "reward": reward,
                "done": done,
                "terminated": torch.zeros_like(done),
            },
            self.batch_size,
        )

    def _set_seed(self, seed):
        self.gen.manual_seed(seed or 0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=130000)
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--agents", type=int, default=64)
    p.add_argument("--batch", type=int, default=256)
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)

    env = SpringSwarm(a.agents)
    net = nn.Sequential(
        nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 3)
    )
    actor = QValueActor(
        module=TensorDictModule(net, in_keys=["observation"], out_keys=["action_value"]),
        spec=Composite(action=OneHot(3)),
        in_keys=["observation"],
    )
    explore = TensorDictSequential(
        actor,
        EGreedyModule(
            spec=OneHot(3, shape=(a.agents, 3)),
            eps_init=1.0,
            eps_end=0.05,
            annealing_num_steps=a.steps // 2,
        ),
    )
    loss_fn = DQNLoss(actor, action_space="one-hot", delay_value=True)
    loss_fn.make_value_estimator(gamma=0.98)
    updater = SoftUpdate(loss_fn, eps=0.99)
    optim = torch.optim.Adam(loss_fn.parameters(), lr=5e-4, fused=True)
    memory = ReplayBuffer(
        storage=LazyTensorStorage(100_000), sampler=RandomSampler(), batch_size=a.batch
    )

    frames = 0
    td = env.reset()
    start = time.perf_counter()
    while frames < a.steps:
        for _ in range(10):
            with torch.no_grad():
                td = explore(td)
                explore[1].step(a.agents)
                td, nxt = env.step_and_maybe_reset(td)
            data = td.select("observation", "action", "next")
            if a.fixed:
                memory.extend(data)
            else:
                for transition in data.unbind(0):
                    memory.add(transition)
            td = nxt
            frames += a.agents
        for _ in range(4):
            sample = memory.sample()
            loss = loss_fn(sample)["loss"]
            optim.zero_grad()
            loss.backward()
            optim.step()
            updater.step()
        if frames % (a.agents * 200) == 0:
            print(
                frames,
                "reward",
                round(data["next", "reward"].mean().item(), 3),
                "loss",
                round(loss.item(), 4),
            )
    print(f"loop_s {time.perf_counter() - start:.3f} steps {frames}")


if __name__ == "__main__":
    main()
