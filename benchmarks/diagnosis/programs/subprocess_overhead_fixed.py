"""The same environments in this process."""

from subprocess_overhead_slow import main

if __name__ == "__main__":
    main(processes=False)
