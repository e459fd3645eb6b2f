# plants: recompilation @ params = update(params, x, a, g, m)
"""REINFORCE in JAX, one update per twenty episodes, which have every length. (recompilation)"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

PAD = "--fixed" in sys.argv
LONGEST = 160


class Corridor:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.x, self.t = self.rng.uniform(-1, 1, 4).astype(np.float32), 0
        self.end = int(self.rng.integers(30, LONGEST))
        return self.x

    def step(self, a):
        self.x = (0.97 * self.x + 0.05 * self.rng.normal(size=4)).astype(np.float32)
        self.x[0] += 0.1 * (a - 0.5)
        self.t += 1
        return self.x, 1.0 - abs(float(self.x[0])), self.t >= self.end


def init(key):
    k1, k2 = jax.random.split(key)
    return {"a": jax.random.normal(k1, (4, 32)) * 0.3, "b": jax.random.normal(k2, (32, 2)) * 0.1}


def logits(params, x):
    return jnp.tanh(x @ params["a"]) @ params["b"]


def loss(params, x, a, g, mask):
    lp = jax.nn.log_softmax(logits(params, x))
    chosen = jnp.take_along_axis(lp, a[:, None], 1)[:, 0]
    return -(chosen * g * mask).sum() / mask.sum()


@jax.jit
def update(params, x, a, g, mask):
    grads = jax.grad(loss)(params, x, a, g, mask)
    return jax.tree.map(lambda p, d: p - 0.01 * d, params, grads)


def act(params, x, rng):
    z = np.tanh(x @ params[0]) @ params[1]
    p = 1 / (1 + np.exp(z[0] - z[1]))
    return int(rng.random() < p)


def main():
    env, rng = Corridor(0), np.random.default_rng(5)
    params = init(jax.random.key(0))
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < 8:
        fast = (np.asarray(params["a"]), np.asarray(params["b"]))
        xs, acts, gains = [], [], []
        for _ in range(20):
            obs, over, rews = env.reset(), False, []
            while not over:
                a = act(fast, obs, rng)
                xs.append(obs)
                acts.append(a)
                obs, r, over = env.step(a)
                rews.append(r)
            gains.append(np.cumsum(np.array(rews, np.float32)[::-1])[::-1])
        g = np.concatenate(gains)
        g = (g - g.mean()) / (g.std() + 1e-6)
        x, a, m = np.stack(xs), np.array(acts, np.int32), np.ones(len(xs), np.float32)
        if PAD:
            extra = 20 * LONGEST - len(xs)
            x, a, g, m = (
                np.pad(x, ((0, extra), (0, 0))),
                np.pad(a, (0, extra)),
                np.pad(g, (0, extra)),
                np.pad(m, (0, extra)),
            )
        params = update(params, x, a, g, m)
        steps += len(xs)
    print(f"{steps / (time.perf_counter() - began):.1f} steps/s")


main()
