# plants: stepwise-recurrence @ hidden = self.memory(features[t], hidden)
"""Actor-critic with a memory: a cue is shown early and has to be acted on later.

python signal_memory.py [--seconds 10] [--fixed] [--truth FILE]
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop

OBS, ACTIONS, GAMMA = 24, 6, 0.97


class CueTask:
    """Noisy oscillators; the sign of a hidden cue says which action pays."""

    def __init__(self, count: int, device: str) -> None:
        self.phase = torch.rand(count, OBS, device=device) * 6.28
        self.speed = torch.rand(count, OBS, device=device) * 0.3
        self.cue = torch.randint(0, ACTIONS, (count,), device=device)
        self.clock = 0

    def observe(self) -> torch.Tensor:
        seen = torch.sin(self.phase)
        if self.clock % 64 < 4:
            seen = seen + nn.functional.one_hot(self.cue, OBS)
        return seen

    def step(self, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.phase = self.phase + self.speed
        self.clock += 1
        reward = (action == self.cue).float() - 0.1
        if self.clock % 64 == 0:
            self.cue = torch.randint_like(self.cue, ACTIONS)
        return self.observe(), reward


class GatedCell(nn.Module):
    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.from_input = nn.Linear(inputs, 3 * width)
        self.from_state = nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        xr, xz, xn = self.from_input(x).chunk(3, -1)
        hr, hz, hn = self.from_state(h).chunk(3, -1)
        reset, keep = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        new = torch.tanh(xn + reset * hn)
        return new + keep * (h - new)


class Agent(nn.Module):
    def __init__(self, width: int, fixed: bool) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(OBS, width), nn.ReLU())
        self.memory = nn.GRU(width, width) if fixed else GatedCell(width, width)
        self.policy, self.value = nn.Linear(width, ACTIONS), nn.Linear(width, 1)

    def unroll(self, obs: torch.Tensor, hidden: torch.Tensor):
        features = self.encoder(obs)
        if isinstance(self.memory, nn.GRU):
            states, _ = self.memory(features, hidden[None])
        else:
            collected = []
            for t in range(len(features)):
                hidden = self.memory(features[t], hidden)
                collected.append(hidden)
            states = torch.stack(collected)
        return self.policy(states), self.value(states).squeeze(-1), states[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--envs", type=int, default=512)
    parser.add_argument("--horizon", type=int, default=64)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--minibatches", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    device, envs, horizon = args.device, args.envs, args.horizon
    task, agent = CueTask(envs, device), Agent(args.width, args.fixed).to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=5e-4, fused=True)
    power = torch.arange(horizon, device=device)
    gap = power[None, :] - power[:, None]
    discount = torch.where(gap >= 0, GAMMA ** gap.clamp(min=0).float(), 0.0)
    seen = torch.zeros(horizon, envs, OBS, device=device)
    chosen = torch.zeros(horizon, envs, dtype=torch.long, device=device)
    rewards = torch.zeros(horizon, envs, device=device)
    obs, hidden = task.observe(), torch.zeros(envs, args.width, device=device)
    loop = Loop(args)
    for _ in loop:
        start = hidden
        for t in range(horizon):
            with torch.no_grad(), loop.span("policy.act"):
                logits, _, hidden = agent.unroll(obs[None], hidden)
                noise = torch.empty_like(logits[0]).exponential_().log()
                action = (logits[0] - noise).argmax(-1)
            seen[t], chosen[t] = obs, action
            with loop.span("env.step"):
                obs, rewards[t] = task.step(action)
        returns = discount @ rewards
        order = torch.randperm(envs, device=device).chunk(args.minibatches)
        for pick in order:
            with loop.span("learn.forward"):
                logits, value, _ = agent.unroll(seen[:, pick], start[pick])
                advantage = returns[:, pick] - value
                logp = nn.functional.log_softmax(logits, -1)
                taken = logp.gather(-1, chosen[:, pick, None]).squeeze(-1)
                entropy = -(logp.exp() * logp).sum(-1).mean()
                loss = 0.5 * advantage.square().mean() - 0.01 * entropy
                loss = loss - (taken * advantage.detach()).mean()
            optimizer.zero_grad()
            with loop.span("learn.backward"):
                loss.backward()
            with loop.span("learn.optimizer"):
                optimizer.step()
    loop.finish(envs * horizon)


if __name__ == "__main__":
    main()
