"""The same with all rows as one tensor: compiled once."""

from recompilation_slow import main

if __name__ == "__main__":
    main(give=lambda rows, pieces: [rows])
