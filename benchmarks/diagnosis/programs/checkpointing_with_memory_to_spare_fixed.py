"""The same with its activations kept."""

from checkpointing_with_memory_to_spare_slow import main

if __name__ == "__main__":
    main(frugal=False)
