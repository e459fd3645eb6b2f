"""Evolution strategies: workers take a seed from a queue and send back one number. NumPy, no autograd."""

# plants: nothing
import argparse
import multiprocessing as mp
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

OBS, HID, ACT = 8, 32, 2
SIZE = OBS * HID + HID + HID * ACT
HORIZON, EPISODES = 200, 64


def unpack(theta):
    a, b = OBS * HID, OBS * HID + HID
    return theta[:a].reshape(OBS, HID), theta[a:b], theta[b:].reshape(HID, ACT)


def rollout(theta, seed):
    """Mean return of 64 gliders that are flown together."""
    rng = np.random.default_rng(seed)
    w1, b1, w2 = unpack(theta)
    pos = rng.uniform(-2, 2, (EPISODES, 2))
    vel = np.zeros((EPISODES, 2))
    wind = rng.normal(0, 0.3, (EPISODES, 2))
    total = np.zeros(EPISODES)
    for t in range(HORIZON):
        obs = np.concatenate([pos, vel, wind, np.sin(pos)], 1)
        act = np.tanh(np.tanh(obs @ w1 + b1) @ w2)
        vel = 0.95 * vel + 0.1 * act + 0.02 * wind
        pos = pos + 0.1 * vel
        total -= (pos * pos).sum(1) + 0.01 * (act * act).sum(1)
    return float(total.mean()) / HORIZON


def serve(tasks, results, shared, sigma):
    theta = np.frombuffer(shared, np.float64)
    while True:
        job = tasks.get()
        if job is None:
            return
        seed, env_seed = job
        eps = np.random.default_rng(seed).normal(size=SIZE)
        results.put(
            (seed, rollout(theta + sigma * eps, env_seed), rollout(theta - sigma * eps, env_seed))
        )


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=25000000)
    ap.add_argument(
        "--fixed", action="store_true", help="no effect, there is nothing to switch off"
    )
    ap.add_argument("--population", type=int, default=64)
    args = ap.parse_args()
    sigma, lr = 0.1, 0.05
    shared = mp.RawArray("d", SIZE)
    theta = np.frombuffer(shared, np.float64)
    theta[:] = np.random.default_rng(0).normal(0, 0.1, SIZE)
    tasks, results = mp.Queue(), mp.Queue()
    workers = [
        mp.Process(target=serve, args=(tasks, results, shared, sigma), daemon=True)
        for _ in range(len(os.sched_getaffinity(0)))
    ]
    for w in workers:
        w.start()
    rng = np.random.default_rng(1)
    m = np.zeros(SIZE)
    steps = gen = 0
    start = time.perf_counter()
    while steps < args.steps:
        gen += 1
        env_seed = int(rng.integers(1 << 31))
        for seed in rng.integers(1 << 31, size=args.population):
            tasks.put((int(seed), env_seed))
        got = sorted(results.get() for _ in range(args.population))
        noise = np.stack([np.random.default_rng(s).normal(size=SIZE) for s, _, _ in got])
        plus, minus = np.array([g[1] for g in got]), np.array([g[2] for g in got])
        both = np.concatenate([plus, minus])
        rank = both.argsort().argsort() / (len(both) - 1) - 0.5
        grad = (rank[: len(got)] - rank[len(got) :]) @ noise / (len(got) * sigma)
        m = 0.9 * m + 0.1 * grad
        theta += lr * m
        steps += 2 * args.population * EPISODES * HORIZON
        if gen % 5 == 0:
            print(f"generation {gen} return {both.mean():.4f}")
    took = time.perf_counter() - start
    for _ in workers:
        tasks.put(None)
    for w in workers:
        w.join()
    print(f"loop_s {took:.3f} steps {steps}")


if __name__ == "__main__":
    main()
