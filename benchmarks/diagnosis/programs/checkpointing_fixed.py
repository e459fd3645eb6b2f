"""The network alone, a tenth as often."""

from checkpointing_slow import main

if __name__ == "__main__":
    main(every=1000, with_buffer=False)
