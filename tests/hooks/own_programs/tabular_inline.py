# ruff: noqa  (a program as people write them, kept as it is)
"""Q-learning with a dict, module level, a grid world class of its own."""

import random


class GridWorld:
    def __init__(self, n=6):
        self.n = n
        self.walls = {(1, 1), (2, 3), (4, 2)}

    def reset(self):
        self.pos = (0, 0)
        self.t = 0
        return self.pos

    def step(self, action):
        dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[action]
        x = min(max(self.pos[0] + dx, 0), self.n - 1)
        y = min(max(self.pos[1] + dy, 0), self.n - 1)
        if (x, y) not in self.walls:
            self.pos = (x, y)
        self.t += 1
        done = self.pos == (self.n - 1, self.n - 1) or self.t > 200
        return self.pos, (1.0 if self.pos == (self.n - 1, self.n - 1) else -0.01), done, {}


env = GridWorld()
Q = {}
alpha, gamma, eps = 0.1, 0.95, 0.2
scores = []
steps = 0
random.seed(0)
for episode in range(30000):
    s = env.reset()
    done = False
    total = 0
    while not done:
        if random.random() < eps:
            a = random.randrange(4)
        else:
            qs = [Q.get((s, b), 0.0) for b in range(4)]
            best = max(qs)
            a = random.choice([i for i, q in enumerate(qs) if q == best])
        s2, r, done, _ = env.step(a)
        target = r if done else r + gamma * max(Q.get((s2, b), 0.0) for b in range(4))
        Q[s, a] = Q.get((s, a), 0.0) + alpha * (target - Q.get((s, a), 0.0))
        s = s2
        total += r
        steps += 1
    scores.append(total)
print(steps, len(scores), round(sum(scores), 6))
