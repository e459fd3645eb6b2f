"""A heavy simulator in plain Python."""

from _environments import Pendulums
from _training import dqn


def main(env_class=Pendulums, substeps: int = 1500) -> None:
    dqn(env_class(substeps=substeps), 2500, every=1)


if __name__ == "__main__":
    main()
