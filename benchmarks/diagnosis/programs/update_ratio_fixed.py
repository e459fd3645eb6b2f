"""The same with one."""

from update_ratio_slow import main

if __name__ == "__main__":
    main(updates=1)
