"""Process.terminate ends a forked worker inside native code."""

import multiprocessing
import time


def work(started):
    started.set()
    sum(range(10**12))


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    started = context.Event()
    process = context.Process(target=work, args=(started,))
    process.start()
    started.wait()
    time.sleep(0.2)
    process.terminate()
    process.join(10)
    print(process.exitcode, process.is_alive())
    process.kill()
