"""The same dungeon from a snapshot."""

from slow_reset_slow import Dungeon, main


class Snapshot(Dungeon):
    def __init__(self) -> None:
        self.start = self.load()
        super().__init__()

    def begin(self):
        return self.start.copy()


if __name__ == "__main__":
    main(Snapshot)
