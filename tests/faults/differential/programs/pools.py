"""Pools of every start method give the same results."""

import multiprocessing


def square(number):
    return number * number


if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, range(5)))
