"""An environment that averages over all rewards that it ever gave."""

from _environments import Walk
from _training import dqn


class Tracked(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.rewards: list[float] = []

    def mean_reward(self, reward: float) -> float:
        self.rewards.append(reward)
        return sum(r * r if r < 0 else r for r in self.rewards) / len(self.rewards)

    def step(self, action):
        obs, reward, terminated, truncated, info = super().step(action)
        info["mean"] = self.mean_reward(reward)
        return obs, reward, terminated, truncated, info


def main(env_class=Tracked) -> None:
    dqn(env_class(), 9_000, every=4)


if __name__ == "__main__":
    main()
