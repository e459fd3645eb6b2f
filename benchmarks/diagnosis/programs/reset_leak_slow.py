"""A world whose obstacles stay when it is reset."""

from _environments import Walk
from _training import dqn


class Obstacle:
    def __init__(self, at: float) -> None:
        self.at = at

    def push(self, position: float) -> float:
        distance = position - self.at
        return 0.001 / (distance * distance + 1.0)


class Arena(Walk):
    def __init__(self) -> None:
        super().__init__(length=50)
        self.obstacles: list[Obstacle] = []

    def clear(self) -> None:
        pass

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed)
        self.clear()
        self.obstacles += [Obstacle(float(x)) for x in self.np_random.normal(0, 3, 20)]
        return result

    def step(self, action):
        position = float(self.position[0])
        force = sum(obstacle.push(position) for obstacle in self.obstacles)
        self.position[0] += min(force, 0.1)
        return super().step(action)


def main(env_class=Arena) -> None:
    dqn(env_class(), 9_000, every=4)


if __name__ == "__main__":
    main()
