"""Process.terminate ends a spawned worker that sleeps."""

import multiprocessing
import time


def work(started):
    started.set()
    time.sleep(60)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    process = context.Process(target=work, args=(started,))
    process.start()
    started.wait()
    process.terminate()
    process.join(10)
    print(process.exitcode, process.is_alive())
    process.kill()
