"""A small PPO and a small DQN on CartPole, with settings that trade speed for learning."""

import argparse
import random

import gymnasium as gym
import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("algorithm", choices=["ppo", "dqn"])
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--steps", type=int, default=60_000)
parser.add_argument("--epochs", type=int, default=4, help="PPO: passes over a rollout")
parser.add_argument("--envs", type=int, default=8, help="PPO: environments")
parser.add_argument("--learn-every", type=int, default=2, help="DQN: steps per update")
parser.add_argument("--batch", type=int, default=64, help="DQN: batch size")


def network(outputs, width=64):
    return nn.Sequential(
        nn.Linear(4, width),
        nn.Tanh(),
        nn.Linear(width, width),
        nn.Tanh(),
        nn.Linear(width, outputs),
    )


def ppo(options, ended=lambda steps, total: None):
    """Train until the steps are made, or until `ended`, called after each episode, is true."""
    envs = gym.make_vec("CartPole-v1", options.envs, vectorization_mode="sync")
    actor, critic = network(2), network(1)
    both = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(both, lr=1e-3, eps=1e-5, fused=True)
    observation, _ = envs.reset(seed=options.seed)
    length, gamma, trace = 128, 0.99, 0.95
    totals = np.zeros(options.envs)
    resets = np.zeros(options.envs, bool)
    steps = 0
    while steps < options.steps:
        rows = []
        for _ in range(length):
            with torch.no_grad():
                inputs = torch.as_tensor(observation)
                choice = torch.distributions.Categorical(logits=actor(inputs), validate_args=False)
                action = choice.sample()
                row = [inputs, action, choice.log_prob(action), critic(inputs)[:, 0]]
            observation, reward, terminated, truncated, _ = envs.step(action.numpy())
            # The call after an episode's end only resets: it is no step, and is not learned from.
            real = ~resets
            resets = terminated | truncated
            rows.append([*row, *map(torch.as_tensor, (reward, terminated, resets, real))])
            totals += reward * real
            steps += int(real.sum())
            for index in np.flatnonzero(resets):
                if ended(steps, totals[index]):
                    return
                totals[index] = 0.0
        states, actions, logs, values, rewards, terminations, ends, reals = map(
            torch.stack, zip(*rows, strict=True)
        )
        with torch.no_grad():
            after = critic(torch.as_tensor(observation))[:, 0]
        advantages = torch.zeros_like(values)
        running = torch.zeros(options.envs)
        for t in reversed(range(length)):
            goal = rewards[t] + gamma * after * ~terminations[t]
            running = goal - values[t] + gamma * trace * ~ends[t] * running
            advantages[t], after = running, values[t]
        used = reals.flatten()
        batch = [each.flatten(0, 1)[used] for each in (states, actions, logs, values, advantages)]
        states, actions, logs, values, advantages = batch
        wanted = values + advantages
        for _ in range(options.epochs):
            for part in torch.randperm(len(states)).chunk(4):
                choice = torch.distributions.Categorical(
                    logits=actor(states[part]), validate_args=False
                )
                ratio = (choice.log_prob(actions[part]) - logs[part]).exp()
                gain = advantages[part]
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                policy = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
                value = (critic(states[part])[:, 0] - wanted[part]).square().mean()
                loss = policy + 0.5 * value - 0.01 * choice.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(both, 0.5)
                optimizer.step()


def dqn(options, ended=lambda steps, total: None):
    """Train until the steps are made, or until `ended`, called after each episode, is true."""
    env = gym.make("CartPole-v1")
    chance = random.Random(options.seed)
    # One hidden layer, and one kernel for all of Adam: most of a small update is calls.
    online, target = (nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2)) for _ in "ab")
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3, fused=True)
    size = 20_000
    states, following = torch.zeros(size, 4), torch.zeros(size, 4)
    actions = torch.zeros(size, dtype=torch.int64)
    rewards, terminations = torch.zeros(size), torch.zeros(size)
    generator = np.random.default_rng(options.seed)
    observation, _ = env.reset(seed=options.seed)
    total = 0.0
    for step in range(options.steps):
        if chance.random() < max(0.05, 1.0 - step / 5000):
            action = chance.randrange(2)
        else:
            with torch.no_grad():
                action = int(online(torch.as_tensor(observation)).argmax())
        new, reward, terminated, truncated, _ = env.step(action)
        at = step % size
        states[at], following[at] = torch.as_tensor(observation), torch.as_tensor(new)
        actions[at], rewards[at], terminations[at] = action, float(reward), float(terminated)
        observation = new
        total += float(reward)
        if terminated or truncated:
            if ended(step + 1, total):
                return
            observation, total = env.reset()[0], 0.0
        if step >= 500 and step % options.learn_every == 0:
            rows = torch.as_tensor(generator.integers(min(step + 1, size), size=options.batch))
            with torch.no_grad():
                best = target(following[rows]).max(1).values
            goal = rewards[rows] + 0.99 * best * (1 - terminations[rows])
            value = online(states[rows]).gather(1, actions[rows, None])[:, 0]
            loss = nn.functional.smooth_l1_loss(value, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step % 500 == 0:
            target.load_state_dict(online.state_dict())


def train(options, ended=lambda steps, total: None):
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    {"ppo": ppo, "dqn": dqn}[options.algorithm](options, ended)


if __name__ == "__main__":
    train(parser.parse_args())
