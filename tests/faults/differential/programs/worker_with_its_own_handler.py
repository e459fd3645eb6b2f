"""A worker that handles SIGTERM itself says goodbye."""

import multiprocessing
import signal
import sys
import time


def work(started):
    def handle(number, frame):
        print("goodbye", flush=True)
        sys.exit(5)

    print(signal.signal(signal.SIGTERM, handle), flush=True)
    started.set()
    while True:
        time.sleep(0.05)


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    started = context.Event()
    process = context.Process(target=work, args=(started,))
    process.start()
    started.wait()
    process.terminate()
    process.join(10)
    print(process.exitcode)
