# plants: slow-reset @ self.maze = carve(
"""Tabular agent in mazes; each episode of a dozen steps carves the same maze again."""

import random
import sys
import time

FIXED = "--fixed" in sys.argv


def carve(seed, size=31):
    """Depth-first maze with a few extra doors, then distances from the exit."""
    rng = random.Random(seed)
    walls = [[True] * size for _ in range(size)]
    stack = [(1, 1)]
    walls[1][1] = False
    while stack:
        x, y = stack[-1]
        ways = [(x + dx, y + dy) for dx, dy in ((2, 0), (-2, 0), (0, 2), (0, -2))]
        ways = [(a, b) for a, b in ways if 0 < a < size and 0 < b < size and walls[a][b]]
        if not ways:
            stack.pop()
            continue
        a, b = rng.choice(ways)
        walls[(x + a) // 2][(y + b) // 2] = walls[a][b] = False
        stack.append((a, b))
    for _ in range(size):
        walls[rng.randrange(1, size - 1)][rng.randrange(1, size - 1)] = False
    return walls


class Maze:
    moves = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def __init__(self, seeds=3):
        self.seeds, self.kept = seeds, {}

    def reset(self):
        seed = random.randrange(self.seeds)
        if FIXED and seed in self.kept:
            self.maze = self.kept[seed]
        else:
            self.maze = carve(seed)
            self.kept[seed] = self.maze
        self.seed, self.at, self.left = seed, (1, 1), 120
        return self.seed, *self.at

    def step(self, action):
        dx, dy = self.moves[action]
        x, y = self.at[0] + dx, self.at[1] + dy
        if not self.maze[x][y]:
            self.at = (x, y)
        self.left -= 1
        done = self.at[0] + self.at[1] >= 24
        return (self.seed, *self.at), (1.0 if done else -0.01), done or self.left == 0


def main():
    env, table = Maze(), {}
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        state, done = env.reset(), False
        while not done:
            values = table.setdefault(state, [0.0] * 4)
            action = random.randrange(4) if random.random() < 0.1 else values.index(max(values))
            after, reward, done = env.step(action)
            future = 0.0 if done else max(table.setdefault(after, [0.0] * 4))
            values[action] += 0.2 * (reward + 0.98 * future - values[action])
            state = after
            steps += 1
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
