"""Environments in four processes behind shared memory; all of them spin until it is their turn."""

import ctypes
import multiprocessing as mp

import numpy as np
import torch
from _environments import Walk
from _training import network

WORKERS, EACH = 4, 4
ENVS = WORKERS * EACH
STEP, DONE, CLOSE = 1, 2, 3


class Turns:
    """Whose turn it is: a byte per worker that both sides look at."""

    def __init__(self) -> None:
        self.flags = mp.RawArray(ctypes.c_uint8, [DONE] * WORKERS)

    def hand_over(self, what: int) -> None:
        for i in range(WORKERS):
            self.flags[i] = what

    def wait_for_all(self) -> None:
        while any(flag != DONE for flag in self.flags):
            pass

    def wait(self, worker: int) -> int:
        while self.flags[worker] == DONE:
            pass
        return self.flags[worker]

    def done(self, worker: int) -> None:
        self.flags[worker] = DONE


class Block:
    """Observations, actions and rewards in shared memory."""

    def __init__(self) -> None:
        self.raw = [mp.RawArray(kind, size) for kind, size in
                    ((ctypes.c_float, ENVS * 8), (ctypes.c_int64, ENVS), (ctypes.c_float, ENVS))]  # fmt: skip

    def arrays(self):
        kinds = (np.float32, np.int64, np.float32)
        obs, actions, rewards = (np.frombuffer(r, k) for r, k in zip(self.raw, kinds, strict=True))
        return obs.reshape(ENVS, 8), actions, rewards


def work(worker: int, block: Block, turns: Turns) -> None:
    obs, actions, rewards = block.arrays()
    envs = [Walk() for _ in range(EACH)]
    for i, env in enumerate(envs):
        env.reset(seed=worker * EACH + i)
    while turns.wait(worker) != CLOSE:
        for i, env in enumerate(envs, worker * EACH):
            seen, rewards[i], terminated, truncated, _ = env.step(actions[i])
            obs[i] = env.reset()[0] if terminated or truncated else seen
        turns.done(worker)


def main(turns: Turns, iterations: int, length: int = 32) -> None:
    torch.set_num_threads(1)
    block = Block()
    workers = [mp.Process(target=work, args=(i, block, turns), name=f"worker-{i}", daemon=True)
               for i in range(WORKERS)]  # fmt: skip
    for worker in workers:
        worker.start()
    obs, actions, rewards = block.arrays()
    policy = network(8, 3)
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3, fused=True)
    for _ in range(iterations):
        seen, taken, earned = [], [], []
        for _ in range(length):
            seen.append(torch.from_numpy(obs.copy()))
            with torch.no_grad():
                logits = policy(seen[-1])
            taken.append(torch.distributions.Categorical(logits=logits).sample())
            actions[:] = taken[-1].numpy()
            turns.hand_over(STEP)
            turns.wait_for_all()
            earned.append(torch.from_numpy(rewards.copy()))
        returns = torch.stack(earned).flip(0).cumsum(0).flip(0)
        log = torch.log_softmax(policy(torch.cat(seen)), -1)
        chosen = log.gather(1, torch.cat(taken)[:, None]).squeeze(1)
        optimizer.zero_grad()
        (-(chosen * returns.flatten()).mean()).backward()
        optimizer.step()
    turns.hand_over(CLOSE)
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main(Turns(), 12)
