"""The same environment with a running mean."""

from growing_step_cost_slow import Tracked, main


class Running(Tracked):
    total, count = 0.0, 0

    def mean_reward(self, reward: float) -> float:
        self.total += reward * reward
        self.count += 1
        return self.total / self.count


if __name__ == "__main__":
    main(Running)
