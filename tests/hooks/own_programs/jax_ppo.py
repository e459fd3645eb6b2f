# ruff: noqa  (a program as people write them, kept as it is)
"""PPO with a Python loop, jitted parts, scanned epochs."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit


class VecEnv:
    def __init__(self, n):
        self.n = n
        self.rng = np.random.default_rng(0)

    def reset(self):
        self.s = np.zeros((self.n, 3), np.float32)
        self.t = np.zeros(self.n, int)
        return self.s.copy()

    def step(self, actions):
        self.s += 0.1 * (np.asarray(actions)[:, None] - 0.5) + 0.05 * self.rng.normal(
            size=self.s.shape
        ).astype(np.float32)
        self.t += 1
        done = (np.abs(self.s).max(1) > 1) | (self.t >= 50)
        r = -np.abs(self.s).sum(1)
        self.s[done] = 0
        self.t[done] = 0
        return self.s.copy(), r.astype(np.float32), done


@jit
def policy(p, s, k):
    h = jnp.tanh(s @ p["w1"])
    logits = h @ p["wp"]
    a = jax.random.categorical(k, logits)
    return a, jax.nn.log_softmax(logits)[jnp.arange(len(a)), a], (h @ p["wv"])[:, 0]


@jit
def compute_gae(rewards, values, dones, last):
    def f(c, x):
        g, nv = c
        r, v, d = x
        delta = r + 0.99 * nv * (1 - d) - v
        g = delta + 0.99 * 0.95 * (1 - d) * g
        return (g, v), g

    _, adv = jax.lax.scan(f, (jnp.zeros_like(last), last), (rewards, values, dones), reverse=True)
    return adv, adv + values


def loss(p, b):
    s, a, lp, adv, ret = b
    h = jnp.tanh(s @ p["w1"])
    logp = jax.nn.log_softmax(h @ p["wp"])[jnp.arange(len(a)), a]
    ratio = jnp.exp(logp - lp)
    return (
        -jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv).mean()
        + 0.5 * (((h @ p["wv"])[:, 0] - ret) ** 2).mean()
    )


@jit
def train_step(p, b):
    g = grad(loss)(p, b)
    return jax.tree.map(lambda x, y: x - 3e-3 * y, p, g)


N, T = 8, 64
env = VecEnv(N)
s = env.reset()
k = jax.random.PRNGKey(0)
p = {"w1": jax.random.normal(k, (3, 64)) * 0.3, "wp": jnp.zeros((64, 2)), "wv": jnp.zeros((64, 1))}
steps = ups = 0
eps = 0
for it in range(30):
    S, A, L, V, R, D = [], [], [], [], [], []
    for t in range(T):
        k, k2 = jax.random.split(k)
        a, lp, v = policy(p, s, k2)
        s2, r, d = env.step(a)
        for l, x in zip((S, A, L, V, R, D), (s, a, lp, v, r, d)):
            l.append(x)
        s = s2
        steps += N
        eps += int(d.sum())
    _, _, last = policy(p, s, k)
    adv, ret = compute_gae(
        jnp.array(np.array(R)), jnp.stack(V), jnp.array(np.array(D), jnp.float32), last
    )
    flat = [
        np.asarray(x).reshape((N * T,) + np.asarray(x).shape[2:])
        for x in (np.array(S), jnp.stack(A), jnp.stack(L), adv, ret)
    ]
    for e in range(4):
        idx = np.random.default_rng(e).permutation(N * T)
        for i in range(0, N * T, 128):
            p = train_step(p, tuple(x[idx[i : i + 128]] for x in flat))
            ups += 1
print(steps, eps, ups, float(p["w1"].sum()))
