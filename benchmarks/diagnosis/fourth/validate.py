# plants: distribution-validation @ gear = Categorical(logits=out[:, 4:7]
"""A2C with a factored continuous/discrete action on a batch of point masses (distribution-validation)."""

import sys
import time

import torch
from torch import nn
from torch.distributions import Beta, Categorical, Independent

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(3)
VALIDATE = None if not FIXED else False
N_ENVS = 16


class Masses:
    """Sixteen point masses pushed in two dimensions; the gear multiplies the force."""

    def __init__(self, n):
        self.n = n
        self.gear = torch.tensor([0.5, 1.0, 2.0])

    def reset(self):
        self.x = torch.rand(self.n, 4) * 2 - 1
        self.t = 0
        return self.x

    def step(self, force, gear):
        v = self.x[:, 2:] + 0.05 * (force * 2 - 1) * self.gear[gear, None]
        x = self.x[:, :2] + 0.05 * v
        self.x = torch.cat([x, v * 0.98], 1)
        self.t += 1
        return self.x, -self.x[:, :2].pow(2).sum(1), self.t >= 100


def make_policy():
    body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
    head = nn.Linear(32, 4 + 3 + 1)
    return body, head


def distributions(body, head, obs):
    out = head(body(obs))
    ab = nn.functional.softplus(out[:, :4]) + 1.0
    push = Independent(
        Beta(ab[:, :2], ab[:, 2:], validate_args=VALIDATE), 1, validate_args=VALIDATE
    )
    gear = Categorical(logits=out[:, 4:7], validate_args=VALIDATE)
    return push, gear, out[:, 7]


def rollout(env, obs, body, head, length=8):
    rows = []
    for _ in range(length):
        with torch.no_grad():
            push, gear, _ = distributions(body, head, obs)
            a, g = push.sample(), gear.sample()
        nxt, r, done = env.step(a, g)
        rows.append((obs, a, g, r))
        obs = env.reset() if done else nxt
    return obs, rows


def update(body, head, opt, rows, last):
    with torch.no_grad():
        ret = distributions(body, head, last)[2]
    loss = 0.0
    for obs, a, g, r in reversed(rows):
        ret = r + 0.98 * ret
        push, gear, v = distributions(body, head, obs)
        adv = ret - v
        logp = push.log_prob(a.clamp(1e-4, 1 - 1e-4)) + gear.log_prob(g)
        loss = (
            loss
            - (logp * adv.detach()).mean()
            + 0.5 * adv.pow(2).mean()
            - 0.01 * gear.entropy().mean()
        )
    opt.zero_grad()
    loss.backward()
    opt.step()


def main():
    env = Masses(N_ENVS)
    body, head = make_policy()
    opt = torch.optim.RMSprop([*body.parameters(), *head.parameters()], 7e-4)
    obs, steps, start = env.reset(), 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        obs, rows = rollout(env, obs, body, head)
        update(body, head, opt, rows, obs)
        steps += len(rows) * N_ENVS
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
