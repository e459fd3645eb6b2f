"""The same with one call for the sequence."""

from stepwise_recurrence_slow import main

if __name__ == "__main__":
    main("whole")
