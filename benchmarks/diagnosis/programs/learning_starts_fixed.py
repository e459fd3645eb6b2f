"""Updates from the beginning: nothing to explain."""

from learning_starts_slow import main

if __name__ == "__main__":
    main(starts=100, steps=7000)
