# Snake with a small Q-network. Own game, no Gym.

# plants: per-sample-update @ self.trainer.train_step(state, action, reward, next_state, done)
import argparse
import random
import time
from collections import deque

import numpy as np
import torch
import torch.nn as nn

DIRS = [(0, -1), (1, 0), (0, 1), (-1, 0)]  # up, right, down, left


class SnakeGame:
    def __init__(self, w=16, h=16):
        self.w, self.h = w, h
        self.reset()

    def reset(self):
        self.dir = 1
        self.body = deque(
            [
                (self.w // 2, self.h // 2),
                (self.w // 2 - 1, self.h // 2),
                (self.w // 2 - 2, self.h // 2),
            ]
        )
        self.score = 0
        self.idle = 0
        self.place_food()

    def place_food(self):
        while True:
            self.food = (random.randrange(self.w), random.randrange(self.h))
            if self.food not in self.body:
                return

    def crash(self, pt):
        return not (0 <= pt[0] < self.w and 0 <= pt[1] < self.h) or pt in self.body

    def play_step(self, action):  # 0 straight, 1 right, 2 left
        self.dir = (self.dir + (0, 1, -1)[action]) % 4
        head = (self.body[0][0] + DIRS[self.dir][0], self.body[0][1] + DIRS[self.dir][1])
        self.idle += 1
        if self.crash(head) or self.idle > 100:
            return -10.0, True
        self.body.appendleft(head)
        if head == self.food:
            self.score += 1
            self.idle = 0
            self.place_food()
            return 10.0, False
        self.body.pop()
        return 0.0, False

    def get_state(self):
        x, y = self.body[0]
        ahead = [DIRS[(self.dir + k) % 4] for k in (0, 1, -1)]
        danger = [self.crash((x + d[0], y + d[1])) for d in ahead]
        heading = [self.dir == k for k in range(4)]
        fx, fy = self.food
        return np.array(danger + heading + [fx < x, fx > x, fy < y, fy > y], dtype=np.float32)


class Trainer:
    def __init__(self, model, lr=1e-3, gamma=0.9):
        self.model = model
        self.gamma = gamma
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr, fused=True)
        self.criterion = nn.MSELoss()

    def train_step(self, state, action, reward, next_state, done):
        state = torch.from_numpy(np.atleast_2d(state))
        next_state = torch.from_numpy(np.atleast_2d(next_state))
        action = torch.as_tensor(np.atleast_1d(action))
        reward = torch.as_tensor(np.atleast_1d(reward), dtype=torch.float32)
        done = torch.as_tensor(np.atleast_1d(done), dtype=torch.float32)
        with torch.no_grad():
            target = reward + self.gamma * self.model(next_state).max(1).values * (1 - done)
        pred = self.model(state).gather(1, action.unsqueeze(1)).squeeze(1)
        self.optimizer.zero_grad()
        loss = self.criterion(pred, target)
        loss.backward()
        self.optimizer.step()


class Agent:
    def __init__(self, together):
        self.together = together
        self.n_games = 0
        self.memory = deque(maxlen=10_000)
        self.model = nn.Sequential(nn.Linear(11, 128), nn.ReLU(), nn.Linear(128, 3))
        self.trainer = Trainer(self.model)

    def get_action(self, state):
        if random.randint(0, 200) < 80 - self.n_games:
            return random.randrange(3)
        with torch.no_grad():
            return int(self.model(torch.from_numpy(state)).argmax())

    def train_long_memory(self):
        batch = random.sample(self.memory, min(256, len(self.memory)))
        if self.together:
            states, actions, rewards, next_states, dones = zip(*batch)
            self.trainer.train_step(
                np.array(states),
                np.array(actions),
                np.array(rewards),
                np.array(next_states),
                np.array(dones),
            )
        else:
            for state, action, reward, next_state, done in batch:
                self.trainer.train_step(state, action, reward, next_state, done)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=6000)
    ap.add_argument("--fixed", action="store_true")
    args = ap.parse_args()
    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    game, agent = SnakeGame(), Agent(args.fixed)
    record, total = 0, 0
    start = time.perf_counter()
    state = game.get_state()
    for step in range(1, args.steps + 1):
        action = agent.get_action(state)
        reward, done = game.play_step(action)
        next_state = game.get_state()
        agent.memory.append((state, action, reward, next_state, done))
        state = next_state
        if step % 100 == 0:
            agent.train_long_memory()
        if done:
            agent.n_games += 1
            record = max(record, game.score)
            total += game.score
            game.reset()
            state = game.get_state()
        if step % 2000 == 0:
            print(
                f"step {step} games {agent.n_games} record {record} mean {total / max(agent.n_games, 1):.2f}"
            )
    print(f"loop_s {time.perf_counter() - start:.3f} steps {args.steps}")
