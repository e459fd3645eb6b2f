"""A heavy simulator in plain Python."""

from _environments import Pendulums
from _training import dqn


def main(env_class=Pendulums) -> None:
    dqn(env_class(substeps=500), 2500, every=4)


if __name__ == "__main__":
    main()
