"""A small PPO on a GPU: 8 environments of NumPy, a network of 64 by 64, minibatches of 64 rows.

    python ppo_mlp.py [--device cpu] [--iterations 20] [--truth FILE] [--turns 3,4]

Prints the seconds of its own loop. With `--truth` the whole loop runs under torch's profiler, with
ranges that the program sets itself, and the kernel time of each range is written: what a profiler
that knows the phases by other means has to come to.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time

import numpy as np
import torch
from torch import nn
from truth import Count, write_truth

ENVS, STEPS, EPOCHS, ROWS = 8, 64, 4, 64


class CartPoles:
    """Poles on carts, a vector of them, after Barto, Sutton and Anderson."""

    def __init__(self, count: int) -> None:
        self.random = np.random.default_rng(0)
        self.count = count

    def reset(self):
        self.state = self.random.uniform(-0.05, 0.05, (self.count, 4)).astype(np.float32)
        return self.state.copy(), {}

    def step(self, actions):
        x, v, angle, turn = self.state.T
        force = np.where(actions == 1, 10.0, -10.0)
        cos, sin = np.cos(angle), np.sin(angle)
        push = (force + 0.05 * turn**2 * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        moving = push - 0.05 * turning * cos / 1.1
        self.state = np.stack(
            [x + 0.02 * v, v + 0.02 * moving, angle + 0.02 * turn, turn + 0.02 * turning], 1
        ).astype(np.float32)
        ended = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.2095)
        if ended.any():
            fresh = self.random.uniform(-0.05, 0.05, (int(ended.sum()), 4))
            self.state[ended] = fresh.astype(np.float32)
        return self.state.copy(), np.ones(self.count, np.float32), ended, ended & False, {}


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, observations, actions=None):
        hidden = self.body(observations)
        choice = torch.distributions.Categorical(logits=self.actor(hidden), validate_args=False)
        if actions is None:
            actions = choice.sample()
        value = self.critic(hidden).squeeze(-1)
        return actions, choice.log_prob(actions), choice.entropy(), value


class Turns:
    """Takes turns with another process, an iteration each; times its own turns.

    A machine that is faster now than a second ago is so for both. Waiting is a phase, so that it
    can be taken out of what a profiler says.
    """

    def __init__(self, mine: int, others: int) -> None:
        self.mine, self.others = mine, others
        self.seconds: list[float] = []

    def wait(self) -> None:
        import hotloop

        with hotloop.profile("wait"):
            os.read(self.mine, 1)
        self.began = time.perf_counter()

    def over(self) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.seconds.append(time.perf_counter() - self.began)
        with contextlib.suppress(BrokenPipeError):
            os.write(self.others, b"x")


def train(device: str, iterations: Count, span, turns: Turns | None = None) -> float:
    torch.manual_seed(0)
    envs, agent = CartPoles(ENVS), Agent().to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4)
    observation, _ = envs.reset()
    warm_up(agent, optimizer, device)
    begin, cpu = time.perf_counter(), time.thread_time()
    for _ in iterations:
        if turns is not None:
            turns.wait()
        kept = {name: [] for name in ("obs", "action", "logp", "value", "reward", "ended")}
        for _ in range(STEPS):
            here = torch.as_tensor(observation, device=device)
            with torch.no_grad(), span("policy.act"):
                action, logp, _, value = agent(here)
            observation, reward, ended, _, _ = envs.step(action.cpu().numpy())
            row = (here, action, logp, value, reward, ended)
            for name, each in zip(kept, row, strict=True):
                kept[name].append(each)
        advantage, returns = advantages(kept, device)
        learn(agent, optimizer, kept, advantage, returns, span)
        if turns is not None:
            turns.over()
    if device == "cuda":
        torch.cuda.synchronize()
    print(f"cpu {time.thread_time() - cpu:.4f}")
    return time.perf_counter() - begin


def advantages(kept, device):
    """GAE on the host, as small programs do it."""
    values = torch.stack(kept["value"]).cpu().numpy()
    advantage, last = np.zeros_like(values), 0.0
    for t in reversed(range(STEPS)):
        following = values[t + 1] if t + 1 < STEPS else values[t]
        alive = 1.0 - kept["ended"][t]
        delta = kept["reward"][t] + 0.99 * following * alive - values[t]
        last = advantage[t] = delta + 0.99 * 0.95 * alive * last
    flat = torch.as_tensor(advantage.reshape(-1), device=device)
    return flat, flat + torch.as_tensor(values.reshape(-1), device=device)


def learn(agent, optimizer, kept, advantage, returns, span):
    observations = torch.cat(kept["obs"])
    actions, before = torch.cat(kept["action"]), torch.cat(kept["logp"])
    for _ in range(EPOCHS):
        order = torch.randperm(len(observations), device=observations.device)
        for start in range(0, len(order), ROWS):
            rows = order[start : start + ROWS]
            inputs, taken = observations[rows], actions[rows]
            with span("learn.forward"):
                _, logp, entropy, value = agent(inputs, taken)
            ratio = (logp - before[rows]).exp()
            gain = advantage[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = torch.clamp(ratio, 0.8, 1.2)
            policy = -torch.min(gain * ratio, gain * clipped).mean()
            loss = policy + 0.5 * ((value - returns[rows]) ** 2).mean() - 0.01 * entropy.mean()
            with span("learn.optimizer"):
                optimizer.zero_grad()
            with span("learn.backward"):
                loss.backward()
            with span("learn.optimizer"):
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()


def warm_up(agent, optimizer, device):
    """Kernels are loaded as they are first used: not a part of the loop."""
    for rows in (ENVS, ROWS):
        for _ in range(20):
            _, logp, entropy, value = agent(torch.zeros(rows, 4, device=device))
            (logp.mean() + entropy.mean() + value.mean()).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--seconds", type=float, help="instead of --iterations")
    parser.add_argument("--truth")
    parser.add_argument("--turns", help="two descriptors: read from the first, write to the second")
    options = parser.parse_args()
    torch.set_num_threads(1)
    iterations = Count(options.iterations, options.seconds)
    if options.truth:
        seconds = write_truth(lambda span: train(options.device, iterations, span), options.truth)
    else:
        turns = Turns(*map(int, options.turns.split(","))) if options.turns else None
        plain = contextlib.nullcontext()
        seconds = train(options.device, iterations, lambda name: plain, turns)
        if turns is not None:
            print("turns " + json.dumps(turns.seconds))
    print(f"loop {seconds:.4f}")
    iterations.report(seconds, ENVS * STEPS)


if __name__ == "__main__":
    main()
