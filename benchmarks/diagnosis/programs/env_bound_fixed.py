"""The same pendulums with four times longer substeps."""

from _environments import Pendulums
from env_bound_slow import main


class Coarse(Pendulums):
    def __init__(self, substeps: int) -> None:
        super().__init__(substeps=substeps // 2)


if __name__ == "__main__":
    main(Coarse)
