"""The same pendulums in fewer, longer substeps, as exact as the task needs."""

from env_bound_slow import main

if __name__ == "__main__":
    main(substeps=500)
