"""A heavy simulator in plain Python."""

from _environments import Pendulums
from _training import dqn


def main(env_class=Pendulums, substeps: int = 400) -> None:
    dqn(env_class(substeps=substeps), 3500, every=1)


if __name__ == "__main__":
    main()
