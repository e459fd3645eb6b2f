"""DQN in one file with a replay buffer of its own: the style of CleanRL."""

import argparse
import gc
import random
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812
import torch.optim as optim
from torch.utils.tensorboard import SummaryWriter

# Imports leave many objects behind; to go through them takes longer than this training.
gc.collect()
gc.freeze()

spent = 0.0


def spin(seconds):
    """A busy loop of known length; a busy machine makes it longer."""
    global spent
    begin = time.perf_counter()
    while seconds and time.perf_counter() - begin < seconds:
        pass
    spent += time.perf_counter() - begin


class ReplayBuffer:
    def __init__(self, size, n_obs):
        self.obs = np.zeros((size, n_obs), dtype=np.float32)
        self.next_obs = np.zeros((size, n_obs), dtype=np.float32)
        self.actions = np.zeros((size, 1), dtype=np.int64)
        self.rewards = np.zeros(size, dtype=np.float32)
        self.dones = np.zeros(size, dtype=np.float32)
        self.size, self.position, self.full = size, 0, False

    def add(self, obs, next_obs, action, reward, done):
        at = self.position
        self.obs[at], self.next_obs[at] = obs, next_obs
        self.actions[at], self.rewards[at], self.dones[at] = action, reward, done
        self.position = (at + 1) % self.size
        self.full = self.full or self.position == 0

    def sample(self, batch_size):
        spin(args.slow_sample)
        at = np.random.randint(0, self.size if self.full else self.position, size=batch_size)
        arrays = (self.obs, self.next_obs, self.actions, self.rewards, self.dones)
        return [torch.from_numpy(array[at]) for array in arrays]


class QNetwork(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(n_obs, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, n_actions),
        )

    def forward(self, x):
        return self.network(x)


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=6000)
parser.add_argument("--train-frequency", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=128)
parser.add_argument("--soft", action="store_true")
parser.add_argument("--slow-loss", type=float, default=0.0)
parser.add_argument("--slow-sample", type=float, default=0.0)
parser.add_argument("--logs", default="logs")
args = parser.parse_args()
gamma, learning_starts, target_frequency = 0.99, 500, 500

random.seed(1)
np.random.seed(1)
torch.manual_seed(1)
writer = SummaryWriter(args.logs)
env = gym.make("CartPole-v1")
n_obs, n_actions = env.observation_space.shape[0], env.action_space.n
q_network = QNetwork(n_obs, n_actions)
optimizer = optim.Adam(q_network.parameters(), lr=2.5e-4)
target_network = QNetwork(n_obs, n_actions)
target_network.load_state_dict(q_network.state_dict())
rb = ReplayBuffer(10000, n_obs)

episodes = gradient_steps = 0
start_time = time.time()
obs, _ = env.reset(seed=1)
for global_step in range(args.steps):
    epsilon = max(0.05, 1 - global_step / (args.steps / 2))
    if random.random() < epsilon:
        action = random.randrange(n_actions)
    else:
        q_values = q_network(torch.as_tensor(obs).unsqueeze(0))
        action = int(torch.argmax(q_values, dim=1).cpu().numpy()[0])
    next_obs, reward, terminated, truncated, info = env.step(action)
    rb.add(obs, next_obs, action, reward, terminated)
    obs = next_obs
    if terminated or truncated:
        episodes += 1
        obs, _ = env.reset()

    if global_step > learning_starts and global_step % args.train_frequency == 0:
        b_obs, b_next_obs, b_actions, b_rewards, b_dones = rb.sample(args.batch_size)
        with torch.no_grad():
            target_max, _ = target_network(b_next_obs).max(dim=1)
            td_target = b_rewards + gamma * target_max * (1 - b_dones)
        old_val = q_network(b_obs).gather(1, b_actions).squeeze()
        loss = F.mse_loss(td_target, old_val)
        spin(args.slow_loss)
        if gradient_steps % 100 == 0:
            writer.add_scalar("losses/td_loss", loss.item(), global_step)
            writer.add_scalar("losses/q_values", old_val.mean().item(), global_step)
            writer.add_scalar(
                "charts/SPS", int(global_step / (time.time() - start_time)), global_step
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        gradient_steps += 1
        if args.soft:
            for target, source in zip(target_network.parameters(), q_network.parameters()):
                target.data.copy_(0.005 * source.data + 0.995 * target.data)
    if not args.soft and global_step % target_frequency == 0:
        target_network.load_state_dict(q_network.state_dict())

env.close()
writer.close()
weights = torch.cat([p.detach().flatten() for p in q_network.parameters()]).numpy().tobytes().hex()
print(args.steps, episodes, gradient_steps, gradient_steps * args.batch_size)
print(weights[:4000])
print(spent)
