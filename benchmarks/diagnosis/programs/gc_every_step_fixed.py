"""The same without the collections."""

from gc_every_step_slow import main

if __name__ == "__main__":
    main(on_step=None)
