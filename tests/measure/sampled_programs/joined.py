"""Waiting for a thread: the library's frame is inside, this line is the nearest of the program."""

import threading
import time

END = time.perf_counter() + 3


def main() -> None:
    while time.perf_counter() < END:
        thread = threading.Thread(target=time.sleep, args=(0.05,))
        thread.start()
        thread.join()  # hot: lock


main()
