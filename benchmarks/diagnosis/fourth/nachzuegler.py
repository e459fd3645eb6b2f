# plants: stragglers @ answers = [(pipe, pipe.recv())
"""Actors in processes talk to a remote robot controller; the learner gathers their steps. (stragglers)"""

import multiprocessing as mp
import sys
import time
from multiprocessing.connection import wait

import numpy as np

ASYNC = "--fixed" in sys.argv
ACTORS = 6


def actor(pipe, number):
    rng = np.random.default_rng(number)
    state = rng.normal(size=8)
    pipe.send((state, 0.0))
    while (action := pipe.recv()) is not None:
        slow = rng.random() < 0.06
        time.sleep(0.03 if slow else 0.0015)  # the controller answers over the network
        state = 0.9 * state + 0.1 * rng.normal(size=8)
        state[0] += 0.1 * action
        pipe.send((state, -float(state[0] ** 2)))
    pipe.close()


class Critic:
    def __init__(self):
        self.w = np.zeros((3, 8))

    def choose(self, s, rng):
        return int(rng.integers(3)) if rng.random() < 0.1 else int((self.w @ s).argmax())

    def update(self, s, a, r, s2):
        td = r + 0.95 * (self.w @ s2).max() - self.w[a] @ s
        self.w[a] += 0.01 * np.clip(td, -1, 1) * s


def main():
    ctx = mp.get_context("fork")
    pipes, procs = [], []
    for i in range(ACTORS):
        mine, theirs = ctx.Pipe()
        p = ctx.Process(target=actor, args=(theirs, i), daemon=True)
        p.start()
        pipes.append(mine)
        procs.append(p)
    rng, critic, steps = np.random.default_rng(99), Critic(), 0
    last = {}
    for pipe in pipes:
        s, _ = pipe.recv()
        a = critic.choose(s, rng)
        last[pipe] = (s, a)
        pipe.send(a)
    began = time.perf_counter()
    while time.perf_counter() - began < 8:
        ready = wait(pipes) if ASYNC else pipes
        answers = [(pipe, pipe.recv()) for pipe in ready]
        for pipe, (s2, r) in answers:
            s, a = last[pipe]
            critic.update(s, a, r, s2)
            a2 = critic.choose(s2, rng)
            last[pipe] = (s2, a2)
            pipe.send(a2)
            steps += 1
    took = time.perf_counter() - began
    for pipe in pipes:
        pipe.recv()
        pipe.send(None)
    for p in procs:
        p.join()
    print(f"{steps / took:.1f} steps/s")


if __name__ == "__main__":
    main()
