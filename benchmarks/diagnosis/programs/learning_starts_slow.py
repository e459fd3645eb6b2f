"""Updates begin late: the run slows down there, as it should."""

from _environments import Walk
from _training import dqn


def main(starts: int = 25_000, steps: int = 28_000) -> None:
    dqn(Walk(), steps, every=1, starts=starts)


if __name__ == "__main__":
    main()
