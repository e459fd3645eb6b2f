"""The same with one step for the whole batch."""

from _training import DQN
from per_sample_update_slow import main

if __name__ == "__main__":
    main(DQN)
