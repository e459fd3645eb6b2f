# ruff: noqa  (a program as people write them, kept as it is)
import sys
import tempfile
import time

import gymnasium as gym

kind = sys.argv[1]
busy = float(sys.argv[2]) if len(sys.argv) > 2 else 0
env = gym.make("CartPole-v1")
env.reset(seed=0)
env.action_space.seed(0)
d = tempfile.mkdtemp()


def spin(t):
    e = time.perf_counter() + t
    while time.perf_counter() < e:
        pass


if kind == "torch":
    from torch.utils.tensorboard import SummaryWriter

    w = SummaryWriter(d)
    log = lambda i: w.add_scalar("x", i, i)
elif kind == "x":
    from tensorboardX import SummaryWriter

    w = SummaryWriter(d)

    def log(i):
        for n in range(10):
            w.add_scalar(f"x{n}", i, i)
elif kind == "sqlite":
    import sqlite3

    c = sqlite3.connect(d + "/a.db")
    c.execute("create table t (i int)")

    def log(i):
        with c:
            c.execute("insert into t values (?)", (i,))
        if i % 50 == 0:
            cur = c.cursor()
            cur.execute("insert into t values (?)", (i,))
            c.commit()
            assert isinstance(c, sqlite3.Connection) and isinstance(cur, sqlite3.Cursor)
elif kind == "wandb":
    import wandb

    run = wandb.init(mode="offline", dir=d, project="p")
    log = lambda i: wandb.log({"x": i})
for i in range(300):
    _, _, t, tr, _ = env.step(env.action_space.sample())
    log(i)
    if t or tr:
        env.reset()
if kind == "sqlite":
    print(c.execute("select count(*) from t").fetchall(), repr(c)[:20])
if kind == "wandb":
    run.finish()
