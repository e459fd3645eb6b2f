"""The same epochs with workers that stay."""

from loader_workers_restarted_slow import main

if __name__ == "__main__":
    main(persistent_workers=True)
