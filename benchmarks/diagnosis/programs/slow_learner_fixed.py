"""One update for each chunk."""

import torch
from slow_learner_slow import CHUNK, main

if __name__ == "__main__":
    torch.set_num_threads(1)
    main(count=2000, rows_at_once=CHUNK)
