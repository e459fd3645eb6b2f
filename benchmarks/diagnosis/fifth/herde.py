# plants: stragglers @ results = pool.map(
"""Evolution of gaits in a process pool; long-lived walkers end up in one worker's share."""

import multiprocessing as mp
import sys
import time

import numpy as np

PEOPLE, GENES = 32, 48
CHUNK = 1 if "--fixed" in sys.argv else PEOPLE // 2


def walk(genes):
    """Spring-mass walker; falls when its height leaves the band, so good ones take longer."""
    w1, w2 = genes[:32].reshape(8, 4), genes[32:].reshape(2, 8)
    state, distance, steps = np.array([1.0, 0.0, 0.3, 0.0]), 0.0, 0
    limit = 1200 if genes[0] > 0 else 120
    while steps < limit:
        force = np.tanh(w2 @ np.tanh(w1 @ state))
        height, climb, lean, spin = state
        climb += 0.02 * (force[0] - 4 * (height - 1))
        spin += 0.02 * (force[1] - 0.3 * lean)
        state = np.array([height + 0.02 * climb, 0.99 * climb, lean + 0.02 * spin, 0.99 * spin])
        distance += 0.02 * abs(lean)
        steps += 1
        if abs(state[0] - 1) > 0.9:
            break
    return distance, steps


def main():
    rng = np.random.default_rng(0)
    mean = np.zeros(GENES)
    with mp.Pool(2) as pool:
        pool.map(walk, [mean] * 2)
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < 7:
            noise = rng.normal(size=(PEOPLE // 2, GENES))
            noise[:, 0] = -np.abs(noise[:, 0])
            people = mean + 0.3 * np.concatenate([noise, -noise])
            results = pool.map(walk, list(people), chunksize=CHUNK)
            scores = np.array([d for d, _ in results])
            steps += sum(n for _, n in results)
            rank = scores.argsort().argsort() / (PEOPLE - 1) - 0.5
            gradient = rank @ np.concatenate([noise, -noise]) / PEOPLE
            mean = mean + 0.1 * gradient
            mean[0] = 0.0
        print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


if __name__ == "__main__":
    main()
