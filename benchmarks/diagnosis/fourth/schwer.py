# plants: nothing
"""Healthy: two worker processes, each with a heavy fluid simulation; the learner is tiny."""

import multiprocessing as mp
import time

import numpy as np


def fluid(pipe, seed):
    rng = np.random.default_rng(seed)
    field = rng.normal(size=(160, 160))
    while (force := pipe.recv()) is not None:
        field[70:90, 70:90] += force
        for _ in range(40):
            field += 0.2 * (
                np.roll(field, 1, 0)
                + np.roll(field, -1, 0)
                + np.roll(field, 1, 1)
                + np.roll(field, -1, 1)
                - 4 * field
            )
        pipe.send((field[::40, ::40].ravel().copy(), -float(np.abs(field).mean())))


def main():
    ctx = mp.get_context("fork")
    ends = []
    for i in range(2):
        a, b = ctx.Pipe()
        ctx.Process(target=fluid, args=(b, i), daemon=True).start()
        ends.append(a)
    rng = np.random.default_rng(3)
    mean, spread = np.zeros(16), 0.3
    obs = [np.zeros(16) for _ in ends]
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        noise = [rng.normal(0, spread, 16) for _ in ends]
        for e, o, z in zip(ends, obs, noise):
            e.send(float((mean + z) @ o) * 0.1)
        answers = [e.recv() for e in ends]
        base = np.mean([r for _, r in answers])
        for (_, r), z in zip(answers, noise):
            mean += 0.1 * (r - base) * z / spread
        obs = [o for o, _ in answers]
        steps += len(ends)
    took = time.perf_counter() - start
    for e in ends:
        e.send(None)
    print(f"{steps / took:.1f} steps/s")


if __name__ == "__main__":
    main()
