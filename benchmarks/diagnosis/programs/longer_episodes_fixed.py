"""Episodes of the same length throughout."""

from longer_episodes_slow import Survivor, main


class Constant(Survivor):
    grows = False


if __name__ == "__main__":
    main(Constant)
