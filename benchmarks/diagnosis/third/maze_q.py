"""Linear Q-learning with hashed features on random mazes. NumPy only."""

# plants: redundant-work-in-step @ dist = self.dist if self.keep_map else self.distances()
import argparse
import time

import numpy as np

MOVES = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])


class Maze:
    def __init__(self, size=15, walls=0.22, seed=0, keep_map=False):
        self.size = size
        self.walls = walls
        self.rng = np.random.default_rng(seed)
        self.keep_map = keep_map
        self.limit = 6 * size

    def reset(self):
        while True:
            self.grid = self.rng.random((self.size, self.size)) < self.walls
            free = np.argwhere(~self.grid)
            self.pos, self.goal = (
                tuple(int(v) for v in free[i]) for i in self.rng.choice(len(free), 2, replace=False)
            )
            self.dist = self.distances()
            if self.dist[self.pos] > 3 and self.dist[self.pos] < 10_000:
                break
        self.t = 0
        self.here = self.dist[self.pos]
        return self.observe()

    def distances(self):
        """Number of moves to the goal from every free cell."""
        dist = np.full((self.size, self.size), 10_000)
        dist[self.goal] = 0
        front = [self.goal]
        while front:
            nxt = []
            for r, c in front:
                for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                    y, x = r + dr, c + dc
                    if (
                        0 <= y < self.size
                        and 0 <= x < self.size
                        and not self.grid[y, x]
                        and dist[y, x] == 10_000
                    ):
                        dist[y, x] = dist[r, c] + 1
                        nxt.append((y, x))
            front = nxt
        return dist

    def observe(self):
        r, c = self.pos
        padded = np.pad(self.grid, 2, constant_values=True)
        patch = padded[r : r + 5, c : c + 5].ravel()
        compass = np.sign((self.goal[0] - r, self.goal[1] - c))
        return patch, compass

    def step(self, action):
        y, x = (int(v) for v in np.add(self.pos, MOVES[action]))
        if 0 <= y < self.size and 0 <= x < self.size and not self.grid[y, x]:
            self.pos = (y, x)
        self.t += 1
        dist = self.dist if self.keep_map else self.distances()
        now = dist[self.pos]
        reward = 0.1 * float(self.here - now) - 0.02
        self.here = now
        done = self.pos == self.goal
        return self.observe(), reward + (1.0 if done else 0.0), done, self.t >= self.limit


class TileAgent:
    """Four hashed tilings of the patch, each crossed with the compass."""

    GROUPS = [
        np.array(g)
        for g in (
            (7, 11, 13, 17),
            (6, 7, 8, 11, 13, 16, 17, 18),
            (2, 7, 10, 11, 13, 14, 17, 22),
            (0, 4, 6, 8, 16, 18, 20, 24, 12),
        )
    ]

    def __init__(self, alpha=0.08, gamma=0.97, lam=0.8, seed=0):
        self.w = np.zeros((len(self.GROUPS), 9 * 1024, 4))
        self.alpha, self.gamma, self.lam = alpha, gamma, lam
        self.rng = np.random.default_rng(seed)
        self.rows = np.arange(len(self.GROUPS))

    def features(self, obs):
        patch, compass = obs
        where = int((compass[0] + 1) * 3 + compass[1] + 1)
        return np.array(
            [where * 1024 + int(patch[g] @ (1 << np.arange(len(g)))) for g in self.GROUPS]
        )

    def values(self, f):
        return self.w[self.rows, f].sum(0)

    def act(self, q, eps):
        return int(self.rng.integers(4)) if self.rng.random() < eps else int(q.argmax())

    def learn(self, f, a, target):
        error = target - self.w[self.rows, f, a].sum()
        self.w[self.rows, f, a] += self.alpha / len(self.rows) * error
        return error


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=40000)
    ap.add_argument("--fixed", action="store_true")
    args = ap.parse_args()
    env = Maze(keep_map=args.fixed)
    agent = TileAgent()
    solved, recent = 0, []
    start = time.perf_counter()
    f = agent.features(env.reset())
    for step in range(1, args.steps + 1):
        q = agent.values(f)
        a = agent.act(q, eps=max(0.05, 1 - 2 * step / args.steps))
        obs, r, done, cut = env.step(a)
        nf = agent.features(obs)
        agent.learn(f, a, r if done else r + agent.gamma * agent.values(nf).max())
        f = nf
        if done or cut:
            recent.append(done)
            f = agent.features(env.reset())
        if step % 5000 == 0:
            print(step, "solved", round(float(np.mean(recent[-100:])), 2))
    print(f"loop_s {time.perf_counter() - start:.3f} steps {args.steps}")


if __name__ == "__main__":
    main()
