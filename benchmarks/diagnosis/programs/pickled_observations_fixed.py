"""The same pictures in shared memory."""

from pickled_observations_slow import main

if __name__ == "__main__":
    main(shared=True)
