"""The same priorities, all draws found in one pass."""

import numpy as np
from naive_priority_sampling_slow import PrioritizedReplay, main


class Searched(PrioritizedReplay):
    def sample(self, count: int):
        sums = np.cumsum(self.priorities[: self.size])
        chosen = np.searchsorted(sums, self.rng.uniform(0, sums[-1], count))
        chosen = np.minimum(chosen, self.size - 1)
        self.priorities[chosen] = self.rng.uniform(0.5, 1.5, count)
        return self.rows(chosen)


if __name__ == "__main__":
    main(Searched)
