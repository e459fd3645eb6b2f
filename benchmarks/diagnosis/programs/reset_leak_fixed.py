"""The same world, cleaned up."""

from reset_leak_slow import Arena, main


class CleanArena(Arena):
    def clear(self) -> None:
        self.obstacles = []


if __name__ == "__main__":
    main(CleanArena)
