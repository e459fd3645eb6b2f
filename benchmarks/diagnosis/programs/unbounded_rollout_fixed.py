"""The same, emptied after each update."""

from unbounded_rollout_slow import main

if __name__ == "__main__":
    main(keep=False)
