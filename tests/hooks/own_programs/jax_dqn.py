# ruff: noqa  (a program as people write them, kept as it is)
"""A DQN in plain JAX."""

import hashlib
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


class CartPole:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, action):
        x, v, th, w = self.s
        f = 10.0 if action == 1 else -10.0
        c, sn = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * w * w * sn) / 1.1
        a = (9.8 * sn - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        self.s = np.array(
            [x + 0.02 * v, v + 0.02 * (tmp - 0.05 * a * c / 1.1), th + 0.02 * w, w + 0.02 * a]
        )
        self.t += 1
        done = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21 or self.t >= 200)
        return self.s.astype(np.float32), 1.0, done, {}


class ReplayBuffer:
    def __init__(self, n):
        self.s = np.zeros((n, 4), np.float32)
        self.a = np.zeros(n, np.int32)
        self.r = np.zeros(n, np.float32)
        self.s2 = np.zeros((n, 4), np.float32)
        self.d = np.zeros(n, np.float32)
        self.i = 0
        self.n = n

    def add(self, s, a, r, s2, d):
        k = self.i % self.n
        self.s[k], self.a[k], self.r[k], self.s2[k], self.d[k] = s, a, r, s2, d
        self.i += 1

    def sample(self, m, rng):
        k = rng.integers(min(self.i, self.n), size=m)
        return self.s[k], self.a[k], self.r[k], self.s2[k], self.d[k]


def init(key):
    ks = jax.random.split(key, 3)
    sizes = [4, 64, 64, 2]
    return [
        (jax.random.normal(k, (a, b)) / np.sqrt(a), jnp.zeros(b))
        for k, a, b in zip(ks, sizes, sizes[1:])
    ]


def net(p, x):
    for w, b in p[:-1]:
        x = jax.nn.relu(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


@jax.jit
def select_action(params, obs):
    return jnp.argmax(net(params, obs), -1)


def loss_fn(p, t, batch):
    s, a, r, s2, d = batch
    q = jnp.take_along_axis(net(p, s), a[:, None], 1)[:, 0]
    y = r + 0.99 * (1 - d) * net(t, s2).max(1)
    return jnp.mean((q - jax.lax.stop_gradient(y)) ** 2)


@partial(jax.jit, static_argnames="lr")
def update(params, target, batch, lr=1e-3):
    loss, g = jax.value_and_grad(loss_fn)(params, target, batch)
    return jax.tree.map(lambda p, gg: p - lr * gg, params, g), loss


def main(steps):
    rng = np.random.default_rng(0)
    env = CartPole(0)
    buf = ReplayBuffer(5000)
    params = init(jax.random.PRNGKey(0))
    target = params
    s = env.reset()
    eps = ups = 0
    for i in range(steps):
        a = int(select_action(params, s)) if rng.random() > 0.1 else int(rng.integers(2))
        s2, r, d, _ = env.step(a)
        buf.add(s, a, r, s2, d)
        s = s2
        if d:
            s = env.reset()
            eps += 1
        if i >= 100:
            params, loss = update(params, target, buf.sample(64, rng))
            ups += 1
            if ups % 100 == 0:
                target = params
                float(loss)
    h = hashlib.sha256(
        b"".join(np.asarray(x).tobytes() for x in jax.tree.leaves(params))
    ).hexdigest()[:16]
    print(steps, eps, ups, h)


main(int(sys.argv[1]))
