"""Sixteen gradient steps for every environment step."""

from _environments import Walk
from _training import dqn


def main(updates: int = 16) -> None:
    dqn(Walk(), 700, every=1, updates=updates)


if __name__ == "__main__":
    main()
