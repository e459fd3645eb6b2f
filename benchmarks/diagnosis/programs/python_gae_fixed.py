"""The same advantages, all environments at once."""

from _training import compute_gae
from python_gae_slow import main

if __name__ == "__main__":
    main(compute_gae)
