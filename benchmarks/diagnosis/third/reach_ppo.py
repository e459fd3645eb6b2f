# PPO for a two-joint reacher, one file

# plants: unbatched-policy @ a, lp, _, v = agent.get_action_and_value(next_obs[i].unsqueeze(0))
import argparse
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Normal


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=60000)
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--num-envs", type=int, default=16)
    p.add_argument("--num-steps", type=int, default=128)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--gae-lambda", type=float, default=0.95)
    p.add_argument("--minibatches", type=int, default=4)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--clip", type=float, default=0.2)
    return p.parse_args()


class Reacher(gym.Env):
    """Two links, torques in [-1, 1], reach a random point."""

    def __init__(self):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (8,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def _tip(self):
        a, b = self.q[0], self.q[0] + self.q[1]
        return np.array([np.cos(a) + np.cos(b), np.sin(a) + np.sin(b)])

    def _obs(self):
        return np.concatenate(
            [np.cos(self.q), np.sin(self.q), self.dq, self.goal - self._tip()]
        ).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.q = self.np_random.uniform(-np.pi, np.pi, 2)
        self.dq = np.zeros(2)
        self.goal = self.np_random.uniform(-1.2, 1.2, 2)
        self.t = 0
        return self._obs(), {}

    def step(self, action):
        self.dq = 0.95 * self.dq + 0.3 * np.clip(action, -1, 1)
        self.q = self.q + 0.1 * self.dq
        self.t += 1
        dist = float(np.hypot(*(self.goal - self._tip())))
        return self._obs(), -dist - 0.01 * float(action @ action), dist < 0.05, self.t >= 150, {}


def layer_init(layer, std=np.sqrt(2)):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(obs_dim, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 1), 1.0),
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(obs_dim, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, act_dim), 0.01),
        )
        self.logstd = nn.Parameter(torch.zeros(1, act_dim))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        mean = self.actor(x)
        dist = Normal(mean, self.logstd.expand_as(mean).exp(), validate_args=False)
        if action is None:
            action = dist.sample()
        return (
            action,
            dist.log_prob(action).sum(-1),
            dist.entropy().sum(-1),
            self.critic(x).squeeze(-1),
        )


if __name__ == "__main__":
    args = parse_args()
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    N, T = args.num_envs, args.num_steps
    envs = gym.vector.SyncVectorEnv([Reacher for _ in range(N)])
    agent = Agent(8, 2)
    optimizer = optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5, fused=True)

    obs = torch.zeros(T, N, 8)
    actions = torch.zeros(T, N, 2)
    logprobs, rewards, dones, values = (torch.zeros(T, N) for _ in range(4))

    next_obs, _ = envs.reset(seed=args.seed)
    next_obs = torch.from_numpy(next_obs)
    next_done = torch.zeros(N)
    global_step = 0
    start = time.perf_counter()
    while global_step < args.steps:
        for t in range(T):
            global_step += N
            obs[t], dones[t] = next_obs, next_done
            with torch.no_grad():
                if args.fixed:
                    actions[t], logprobs[t], _, values[t] = agent.get_action_and_value(next_obs)
                else:
                    for i in range(N):
                        a, lp, _, v = agent.get_action_and_value(next_obs[i].unsqueeze(0))
                        actions[t, i], logprobs[t, i], values[t, i] = a[0], lp[0], v[0]
            o, r, term, trunc, _ = envs.step(actions[t].numpy())
            rewards[t] = torch.from_numpy(r).float()
            next_obs, next_done = torch.from_numpy(o), torch.from_numpy(term | trunc).float()

        with torch.no_grad():
            next_value = agent.get_value(next_obs).squeeze(-1)
            advantages = torch.zeros_like(rewards)
            last = torch.zeros(N)
            for t in reversed(range(T)):
                nonterm = 1.0 - (next_done if t == T - 1 else dones[t + 1])
                nv = next_value if t == T - 1 else values[t + 1]
                delta = rewards[t] + args.gamma * nv * nonterm - values[t]
                advantages[t] = last = delta + args.gamma * args.gae_lambda * nonterm * last
            returns = advantages + values

        b_obs, b_act = obs.reshape(-1, 8), actions.reshape(-1, 2)
        b_lp, b_adv, b_ret = logprobs.reshape(-1), advantages.reshape(-1), returns.reshape(-1)
        for _ in range(args.epochs):
            perm = torch.randperm(N * T)
            for mb in perm.chunk(args.minibatches):
                _, newlp, ent, newv = agent.get_action_and_value(b_obs[mb], b_act[mb])
                ratio = (newlp - b_lp[mb]).exp()
                adv = b_adv[mb]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg = torch.max(
                    -adv * ratio, -adv * ratio.clamp(1 - args.clip, 1 + args.clip)
                ).mean()
                loss = pg + 0.5 * 0.5 * ((newv - b_ret[mb]) ** 2).mean() - 0.001 * ent.mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        print(f"step {global_step} reward {rewards.mean().item():.3f}")
    print(f"loop_s {time.perf_counter() - start:.3f} steps {global_step}")
