"""The same recordings, parsed once; the thread only indexes."""

import numpy as np
from slow_thread_slow import BATCH, Parser, main, parse, recordings


class Indexer(Parser):
    def __init__(self, lines: list[str], batches: int) -> None:
        super().__init__(lines, batches)
        self.observations, self.actions = parse(lines)

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        rows = self.rng.integers(0, len(self.lines), BATCH)
        return self.observations[rows], self.actions[rows]


if __name__ == "__main__":
    main(Indexer(recordings(), 1000))
