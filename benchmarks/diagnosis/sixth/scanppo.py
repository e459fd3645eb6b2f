# plants: nothing
"""Healthy: actor-critic with rollout, advantages and update inside one jitted lax.scan."""

import time

import jax
import jax.numpy as jnp

N, T = 256, 32


def net(p, x):
    h = jnp.tanh(x @ p["w1"] + p["b1"])
    h = jnp.tanh(h @ p["w2"] + p["b2"])
    return h @ p["mu"], (h @ p["v"])[:, 0]


def env_step(s, u, key):
    th, w, t = s
    u = jnp.clip(u, -2, 2)
    ang = (th + jnp.pi) % (2 * jnp.pi) - jnp.pi
    r = -(ang**2 + 0.1 * w**2 + 0.001 * u**2) / 10
    w = jnp.clip(w + (15 * jnp.sin(th) + 3 * u) * 0.05, -8, 8)
    th, t = th + 0.05 * w, t + 1
    d = t >= 200
    k1, k2 = jax.random.split(key)
    th = jnp.where(d, jax.random.uniform(k1, (N,), minval=-3.1, maxval=3.1), th)
    w = jnp.where(d, jax.random.uniform(k2, (N,), minval=-1, maxval=1), w)
    return (th, w, jnp.where(d, 0, t)), r, d


def see(s):
    return jnp.stack([jnp.cos(s[0]), jnp.sin(s[0]), s[1] / 8], 1)


@jax.jit
def iterations(p, m, s, key):
    def one(carry, _):
        p, m, s, key = carry

        def act(c, k):
            s = c
            ka, ke = jax.random.split(k)
            o = see(s)
            mu, v = net(p, o)
            a = mu[:, 0] + 0.5 * jax.random.normal(ka, (N,))
            s, r, d = env_step(s, a, ke)
            return s, (o, a, v, r, d)

        key, k = jax.random.split(key)
        s, (o, a, v, r, d) = jax.lax.scan(act, s, jax.random.split(k, T))
        last = net(p, see(s))[1]

        def back(c, x):
            g, nv = c
            v, r, d = x
            g = r + 0.97 * nv * (1 - d) - v + 0.97 * 0.95 * (1 - d) * g
            return (g, v), g

        _, adv = jax.lax.scan(back, (jnp.zeros(N), last), (v, r, d), reverse=True)
        ret, norm = adv + v, (adv - adv.mean()) / (adv.std() + 1e-6)

        def loss(p):
            mu, val = net(p, o.reshape(-1, 3))
            lp = -0.5 * ((a.reshape(-1) - mu[:, 0]) / 0.5) ** 2
            return -(lp * norm.reshape(-1)).mean() + 0.5 * ((val - ret.reshape(-1)) ** 2).mean()

        g = jax.grad(loss)(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
        p = jax.tree.map(lambda p, m: p - 0.003 * m, p, m)
        return (p, m, s, key), r.mean()

    return jax.lax.scan(one, (p, m, s, key), None, length=50)


def main(rounds=16):
    k = jax.random.split(jax.random.key(0), 6)
    p = {
        "w1": jax.random.normal(k[0], (3, 64)) / 2,
        "b1": jnp.zeros(64),
        "w2": jax.random.normal(k[1], (64, 64)) / 8,
        "b2": jnp.zeros(64),
        "mu": jax.random.normal(k[2], (64, 1)) / 80,
        "v": jax.random.normal(k[3], (64, 1)) / 8,
    }
    m = jax.tree.map(jnp.zeros_like, p)
    s = (jax.random.uniform(k[4], (N,), minval=-3, maxval=3), jnp.zeros(N), jnp.arange(N) % 200)
    start = time.perf_counter()
    key = k[5]
    for _ in range(rounds):
        (p, m, s, key), r = iterations(p, m, s, key)
    r = float(r[-1])
    print(f"steps {rounds * 50 * N * T} loop_s {time.perf_counter() - start:.3f} return {r:.4f}")


main()
