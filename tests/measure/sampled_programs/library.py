"""Python of a library: this line is the nearest of the program."""

import difflib
import time

END = time.perf_counter() + 3


def main() -> None:
    one, other = "abcd" * 100, "bcda" * 100
    while time.perf_counter() < END:
        difflib.SequenceMatcher(None, one, other, False).ratio()  # hot: python


main()
