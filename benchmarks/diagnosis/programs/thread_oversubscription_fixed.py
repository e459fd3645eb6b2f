"""The same with one thread a process."""

from thread_oversubscription_slow import main

if __name__ == "__main__":
    main(threads=1)
