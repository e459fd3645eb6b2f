# plants: python-gae @ delta = rewards[t, e] + GAMMA * nextvalue * nonterminal - values[t, e]
"""Single-file PPO (continuous pendulums, 64 at once) in the style of CleanRL."""

import math
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
FIXED = "--fixed" in sys.argv
NUM_ENVS, NUM_STEPS, UPDATES = 64, 64, 28
GAMMA, LAMBDA = 0.95, 0.9


class Pendulums:
    def __init__(self, n):
        self.n = n
        self.th = (torch.rand(n) * 2 - 1) * math.pi
        self.w = torch.rand(n) * 2 - 1
        self.t = torch.randint(0, 150, (n,))

    def obs(self):
        return torch.stack([self.th.cos(), self.th.sin(), self.w / 8], 1)

    def step(self, u):
        u = u.clamp(-2, 2)
        ang = (self.th + math.pi) % (2 * math.pi) - math.pi
        rew = -(ang**2 + 0.1 * self.w**2 + 0.001 * u**2) / 10
        self.w = (self.w + (15 * self.th.sin() + 3 * u) * 0.05).clamp(-8, 8)
        self.th = self.th + self.w * 0.05
        self.t += 1
        done = self.t >= 150
        self.th = torch.where(done, (torch.rand(self.n) * 2 - 1) * math.pi, self.th)
        self.w = torch.where(done, torch.rand(self.n) * 2 - 1, self.w)
        self.t[done] = 0
        return self.obs(), rew, done.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.logstd = nn.Parameter(torch.zeros(1))

    def logp(self, mean, a):
        return -0.5 * ((a - mean) / self.logstd.exp()) ** 2 - self.logstd - 0.9189385


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, fused=True)
envs = Pendulums(NUM_ENVS)
next_obs, next_done = envs.obs(), torch.zeros(NUM_ENVS)
obs = torch.zeros(NUM_STEPS, NUM_ENVS, 3)
actions = torch.zeros(NUM_STEPS, NUM_ENVS)
logprobs = torch.zeros(NUM_STEPS, NUM_ENVS)
rewards = torch.zeros(NUM_STEPS, NUM_ENVS)
dones = torch.zeros(NUM_STEPS, NUM_ENVS)
values = torch.zeros(NUM_STEPS, NUM_ENVS)

start = time.perf_counter()
for update in range(UPDATES):
    for step in range(NUM_STEPS):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            mean = agent.actor(next_obs)[:, 0]
            action = mean + agent.logstd.exp() * torch.randn(NUM_ENVS)
            values[step] = agent.critic(next_obs)[:, 0]
            logprobs[step] = agent.logp(mean, action)
        actions[step] = action
        next_obs, rewards[step], next_done = envs.step(action)

    with torch.no_grad():
        last = agent.critic(next_obs)[:, 0]
        advantages = torch.zeros_like(rewards)
        if FIXED:
            lastgae = torch.zeros(NUM_ENVS)
            following, ending = last, next_done
            for t in reversed(range(NUM_STEPS)):
                delta = rewards[t] + GAMMA * following * (1 - ending) - values[t]
                lastgae = delta + GAMMA * LAMBDA * (1 - ending) * lastgae
                advantages[t] = lastgae
                following, ending = values[t], dones[t]
        else:
            for e in range(NUM_ENVS):
                lastgaelam = 0.0
                for t in reversed(range(NUM_STEPS)):
                    if t == NUM_STEPS - 1:
                        nonterminal, nextvalue = 1.0 - next_done[e], last[e]
                    else:
                        nonterminal, nextvalue = 1.0 - dones[t + 1, e], values[t + 1, e]
                    delta = rewards[t, e] + GAMMA * nextvalue * nonterminal - values[t, e]
                    lastgaelam = delta + GAMMA * LAMBDA * nonterminal * lastgaelam
                    advantages[t, e] = lastgaelam
        returns = advantages + values

    b_obs, b_act, b_logp = obs.reshape(-1, 3), actions.reshape(-1), logprobs.reshape(-1)
    b_adv, b_ret = advantages.reshape(-1), returns.reshape(-1)
    for epoch in range(8):
        for mb in torch.randperm(NUM_ENVS * NUM_STEPS).split(512):
            new = agent.logp(agent.actor(b_obs[mb])[:, 0], b_act[mb])
            ratio = (new - b_logp[mb]).exp()
            adv = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
            pg = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()
            v_loss = 0.5 * (agent.critic(b_obs[mb])[:, 0] - b_ret[mb]).square().mean()
            optimizer.zero_grad()
            (pg + 0.5 * v_loss).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
took = time.perf_counter() - start
print(f"steps {UPDATES * NUM_STEPS * NUM_ENVS} loop_s {took:.3f} return {rewards.mean():.4f}")
