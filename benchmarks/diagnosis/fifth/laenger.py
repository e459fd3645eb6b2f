# plants: nothing
"""Healthy: episodes get ten times longer while the agent learns; the time per step stays."""

import math
import random
import time


class Balance:
    """A stick on a finger; coarse bins are enough."""

    def reset(self):
        self.angle, self.spin, self.t = random.uniform(-0.05, 0.05), random.uniform(-0.1, 0.1), 0
        return self.bins()

    def bins(self):
        a = min(max(int((self.angle + 0.3) / 0.6 * 12), 0), 11)
        s = min(max(int((self.spin + 1.5) / 3.0 * 12), 0), 11)
        return a * 12 + s

    def step(self, push):
        self.spin += 0.02 * (15 * math.sin(self.angle) + 8 * (push - 1) * math.cos(self.angle))
        self.angle += 0.02 * self.spin
        self.t += 1
        fell = abs(self.angle) > 0.3
        return self.bins(), -1.0 if fell else 0.0, fell, self.t >= 3000


def main():
    env, table = Balance(), [[0.0] * 3 for _ in range(144)]
    lengths, steps, start = [], 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        state, over = env.reset(), False
        while not over:
            row = table[state]
            push = random.randrange(3) if random.random() < 0.01 else row.index(max(row))
            after, reward, fell, cut = env.step(push)
            row[push] += 0.2 * (reward + (0.0 if fell else 0.98 * max(table[after])) - row[push])
            state, over = after, fell or cut
            steps += 1
        lengths.append(env.t)
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s, longest {max(lengths)}")


main()
