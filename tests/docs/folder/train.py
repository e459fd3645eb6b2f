"""A small training for the commands in the documentation: Q-learning on a grid, in plain Python."""

import argparse
import random


class GridWorld:
    """An agent walks to a corner; `turbo` is a simulator that does less for the same."""

    def __init__(self, turbo: bool, size: int = 6) -> None:
        self.turbo, self.size = turbo, size
        self.reset()

    def reset(self):
        self.position = (0, 0)
        return self.position

    def step(self, action):
        dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][action]
        x = min(max(self.position[0] + dx, 0), self.size - 1)
        y = min(max(self.position[1] + dy, 0), self.size - 1)
        self.position = (x, y)
        sum(i * i for i in range(20 if self.turbo else 400))  # the physics
        done = self.position == (self.size - 1, self.size - 1)
        return self.position, (1.0 if done else -0.01), done


class ReplayBuffer:
    def __init__(self, capacity: int = 5000) -> None:
        self.capacity, self.memory = capacity, []

    def add(self, state, action, reward, following, done) -> None:
        if len(self.memory) == self.capacity:
            self.memory.pop(0)
        self.memory.append((state, action, reward, following, done))

    def sample(self, batch_size: int):
        return random.sample(self.memory, min(batch_size, len(self.memory)))


class QLearning:
    def __init__(self) -> None:
        self.q = {}

    def values(self, state):
        return self.q.setdefault(state, [0.0] * 4)

    def choose_action(self, state) -> int:
        values = self.values(state)
        return random.randrange(4) if random.random() < 0.1 else values.index(max(values))

    def update(self, batch) -> None:
        for state, action, reward, following, done in batch:
            target = reward + (0.0 if done else 0.99 * max(self.values(following)))
            self.values(state)[action] += 0.1 * (target - self.values(state)[action])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--envs", type=int, default=4)
    parser.add_argument("--episodes", type=int, default=600)
    parser.add_argument("--train-ratio", type=int, default=1)
    parser.add_argument("--push", default="batch")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--turbo", action=argparse.BooleanOptionalAction, default=False)
    options = parser.parse_args()
    random.seed(0)
    environments = [GridWorld(options.turbo) for _ in range(options.envs)]
    agent, buffer = QLearning(), ReplayBuffer()
    states = [env.reset() for env in environments]
    episodes = 0
    while episodes < options.episodes:
        for index, env in enumerate(environments):
            action = agent.choose_action(states[index])
            following, reward, done = env.step(action)
            buffer.add(states[index], action, reward, following, done)
            states[index] = env.reset() if done else following
            episodes += done
        for _ in range(options.train_ratio):
            agent.update(buffer.sample(32))
    print(f"{episodes} episodes")


if __name__ == "__main__":
    main()
