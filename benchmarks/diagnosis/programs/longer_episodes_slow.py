"""Episodes that get longer as training goes on."""

from _environments import Walk
from _training import dqn


class Survivor(Walk):
    """The agent survives longer with every hundred episodes."""

    grows = True

    def __init__(self) -> None:
        super().__init__(length=20)
        self.episodes = 0

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        if self.grows:
            self.length = 20 + self.episodes // 2
        return super().reset(seed=seed)


def main(env_class=Survivor) -> None:
    dqn(env_class(), 14_000)


if __name__ == "__main__":
    main()
