# plants: redundant-work-in-step @ return self.wrapped(*key)
import argparse
import time
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

PLAN = """
............
.####.##.##.
.#.......#..
.#.###.#.#.#
...#...#.#..
.###.###.##.
.#...#......
.#.###.####.
.#.#.....#..
...#.###.#.#
.###.#.#.#..
.....#......
""".split()


class Memo:
    """Callable that can remember its answers."""

    def __init__(self, wrapped, remember):
        self.wrapped, self.remember, self.known = wrapped, remember, {}

    def __call__(self, *key):
        if not self.remember:
            return self.wrapped(*key)
        if key not in self.known:
            self.known[key] = self.wrapped(*key)
        return self.known[key]


def walk(cell, goal):
    """Steps from cell to goal around the walls."""
    seen, queue = {cell: 0}, deque([cell])
    while queue:
        here = queue.popleft()
        if here == goal:
            return seen[here]
        for dr, dc in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            nxt = here[0] + dr, here[1] + dc
            if 0 <= nxt[0] < 12 and 0 <= nxt[1] < 12 and PLAN[nxt[0]][nxt[1]] == "." and nxt not in seen:
                seen[nxt] = seen[here] + 1
                queue.append(nxt)
    return 40


class Courier(gym.Env):
    def __init__(self, remember, seed):
        self.observation_space = spaces.Box(-1, 1, (20,), np.float32)
        self.action_space = spaces.Discrete(4)
        self.free = [(r, c) for r in range(12) for c in range(12) if PLAN[r][c] == "."]
        self.g = np.random.default_rng(seed)
        self.walk = Memo(walk, remember)

    def pick(self):
        return self.free[self.g.integers(len(self.free))]

    def reset(self, *, seed=None, options=None):
        self.at, self.parcels, self.t = self.pick(), [self.pick() for _ in range(4)], 0
        return self.look(), {}

    def dist(self):
        return [self.walk(self.at, p) for p in self.parcels]

    def look(self):
        r, c = self.at
        near = [1.0 if not (0 <= r + a < 12 and 0 <= c + b < 12) or PLAN[r + a][c + b] == "#" else 0.0
                for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        rel = [x for p in self.parcels for x in ((p[0] - r) / 12, (p[1] - c) / 12)]
        d = [min(x, 40) / 40 for x in self.dist()]
        ahead = [min(self.walk((r + a, c + b), self.parcels[0]), 40) / 40 if not w else 1.0
                 for w, (a, b) in zip(near, ((1, 0), (-1, 0), (0, 1), (0, -1)))]
        return np.array(near + rel + d + ahead, np.float32)

    def step(self, a):
        before = min(self.dist())
        dr, dc = ((1, 0), (-1, 0), (0, 1), (0, -1))[int(a)]
        nxt = self.at[0] + dr, self.at[1] + dc
        if nxt in self.free:
            self.at = nxt
        after = min(self.dist())
        rew = 0.2 * (before - after) - 0.02
        if self.at in self.parcels:
            self.parcels[self.parcels.index(self.at)] = self.pick()
            rew += 1.0
        self.t += 1
        return self.look(), rew, False, self.t >= 80, {}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--per-epoch", type=int, default=4000)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    np.random.seed(0)
    venv = DummyVectorEnv([lambda i=i: Courier(args.fixed, i) for i in range(8)])
    space = spaces.Discrete(4)
    policy = DiscreteQLearningPolicy(model=Net(state_shape=(20,), action_shape=4, hidden_sizes=[96, 96]),
                                     action_space=space, eps_training=0.2, eps_inference=0.02)
    algo = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.95, target_update_freq=200, is_double=True)
    collector = Collector(algo, venv, VectorReplayBuffer(20000, 8), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=800, random=True)
    t0 = time.perf_counter()
    res = algo.run_training(OffPolicyTrainerParams(
        training_collector=collector, max_epochs=args.epochs, epoch_num_steps=args.per_epoch, batch_size=64,
        collection_step_num_env_steps=16, update_step_num_gradient_steps_per_sample=0.125, show_progress=False, verbose=False))
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.epochs * args.per_epoch}")


if __name__ == "__main__":
    main()
