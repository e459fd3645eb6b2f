# plants: pandas-in-step @ row = self.frame.iloc[k]
# plants: gc-every-step @ gc.collect()
import argparse
import gc
import time
import warnings
from dataclasses import dataclass

warnings.filterwarnings("ignore")
import gymnasium as gym
import numpy as np
import pandas as pd
import torch
from gymnasium import spaces
from tensordict.nn import TensorDictModule, TensorDictSequential
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import GymWrapper
from torchrl.modules import EGreedyModule, MLP, QValueActor
from torchrl.objectives import DQNLoss, SoftUpdate


@dataclass
class Quotes:
    frame: pd.DataFrame
    table: np.ndarray = None

    columns = ("ret", "vol", "mom", "gap", "hour")

    def compact(self):
        self.table = self.frame[list(self.columns)].to_numpy(np.float32)
        self.price = self.frame["close"].to_numpy()

    def window(self, k, n=12):
        if self.table is not None:
            return self.table[k - n + 1:k + 1].ravel()
        return np.concatenate([self[j][0] for j in range(k - n + 1, k + 1)])

    def __getitem__(self, k):
        row = self.frame.iloc[k]
        return np.array([row[c] for c in self.columns], np.float32), row["close"]

    def close(self, k):
        return self.price[k] if self.table is not None else self[k][1]


def history(n, seed):
    g = np.random.default_rng(seed)
    r = np.zeros(n)
    e = g.normal(0, 1e-3, n)
    for i in range(1, n):
        r[i] = 0.5 * r[i - 1] + e[i]
    f = pd.DataFrame({"close": 100 * np.exp(np.cumsum(r)), "ret": r * 500,
                      "hour": np.sin(np.arange(n) / 24 * 6.28)})
    f["vol"] = pd.Series(r).rolling(20).std().fillna(0) * 500
    f["mom"] = pd.Series(r).rolling(8).mean().fillna(0) * 500
    f["gap"] = (r - np.roll(r, 1)) * 500
    return f


class FX(gym.Env):
    def __init__(self, quotes, seed=0):
        self.q, self.g = quotes, np.random.default_rng(seed)
        self.observation_space = spaces.Box(-np.inf, np.inf, (61,), np.float32)
        self.action_space = spaces.Discrete(3)

    def look(self):
        return np.append(self.q.window(self.k), np.float32(self.pos)).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        self.k, self.pos, self.n = int(self.g.integers(20, len(self.q.frame) - 300)), 0, 0
        return self.look(), {}

    def step(self, a):
        new = int(a) - 1
        cost, self.pos = 0.0001 * abs(new - self.pos), new
        p0, p1 = self.q.close(self.k), self.q.close(self.k + 1)
        self.k, self.n = self.k + 1, self.n + 1
        return self.look(), float((self.pos * (p1 / p0 - 1) - cost) * 500), False, self.n >= 250, {}


def tidy(active):
    if active:
        gc.collect()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--frames", type=int, default=5632)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    quotes = Quotes(history(8000, 1))
    if args.fixed:
        quotes.compact()
    env = GymWrapper(FX(quotes), categorical_action_encoding=True)
    actor = QValueActor(MLP(in_features=61, out_features=3, num_cells=[64, 64]), in_keys=["observation"],
                        spec=env.action_spec)
    greedy = EGreedyModule(spec=env.action_spec, annealing_num_steps=3000, eps_init=1.0, eps_end=0.05)
    loss_fn = DQNLoss(actor, action_space=env.action_spec, delay_value=True)
    loss_fn.make_value_estimator(gamma=0.95)
    soft = SoftUpdate(loss_fn, eps=0.98)
    opt = torch.optim.Adam(loss_fn.parameters(), 1e-3, fused=True)
    buf = TensorDictReplayBuffer(storage=LazyTensorStorage(20000), batch_size=128)
    col = Collector(env, TensorDictSequential(actor, greedy), frames_per_batch=256, total_frames=args.frames)
    steps, gain, t0 = 0, 0.0, time.perf_counter()
    for td in col:
        td = td.reshape(-1)
        buf.extend(td)
        greedy.step(td.numel())
        steps += td.numel()
        gain += td["next", "reward"].sum().item()
        for _ in range(32):
            loss = loss_fn(buf.sample())["loss"]
            opt.zero_grad()
            loss.backward()
            opt.step()
            soft.step()
        tidy(not args.fixed)
        if steps % 1280 == 0:
            print(f"frames {steps} gain {gain:.2f}", flush=True)
            gain = 0.0
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={steps}")
    col.shutdown()


if __name__ == "__main__":
    main()
