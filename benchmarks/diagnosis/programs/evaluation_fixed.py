"""The same evaluation a tenth as often."""

from evaluation_slow import main

if __name__ == "__main__":
    main(every=3000)
