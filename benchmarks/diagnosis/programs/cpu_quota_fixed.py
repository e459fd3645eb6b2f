"""The same with one thread."""

from cpu_quota_slow import main

if __name__ == "__main__":
    main(threads=1)
