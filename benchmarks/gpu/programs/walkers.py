# plants: nothing
"""PPO in JAX with wide networks: acting, advantages and updates in one compiled program.

python walkers.py [--seconds 10] [--truth FILE]
"""

from __future__ import annotations

import argparse
from functools import partial

import jax
import jax.numpy as jnp
from truth import Loop

SIGHT, U, SIGMA = 64, 12, 0.4


def init(key, sizes):
    ks = jax.random.split(key, len(sizes))
    return [
        {"w": jax.random.normal(k, (m, n)) * m**-0.5, "b": jnp.zeros(n)}
        for k, m, n in zip(ks, sizes[:-1], sizes[1:], strict=False)
    ]


def net(p, x):
    x = x.astype(jnp.bfloat16)
    for layer in p:
        x = x @ layer["w"].astype(jnp.bfloat16) + layer["b"].astype(jnp.bfloat16)
        if layer is not p[-1]:
            x = jax.nn.relu(x)
    x = x.astype(jnp.float32)
    return x[..., :U], x[..., U]


def physics(s, u, mix):
    s = jnp.sin(0.9 * s + 0.2 * jnp.tanh(u) @ mix)
    return s, s[..., 0] - 0.1 * jnp.square(u).mean(-1)


def logp(mean, u):
    return -0.5 * jnp.square((u - mean) / SIGMA).sum(-1)


def loss_of(p, batch):
    s, u, old, adv, ret = batch
    mean, v = net(p, s)
    ratio = jnp.exp(logp(mean, u) - old)
    gain = jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv)
    return 0.5 * jnp.square(v - ret).mean() - gain.mean()


def adam(p, g, m, v):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    return jax.tree.map(lambda p, m, v: p - 1e-4 * m / (jnp.sqrt(v) + 1e-5), p, m, v), m, v


@partial(jax.jit, static_argnames=("horizon", "epochs", "parts"), donate_argnums=(0, 1))
def iterate(learner, s, key, mix, horizon, epochs, parts):
    p = learner[0]
    key, acting = jax.random.split(key)

    def tick(s, k):
        mean, v = net(p, s)
        u = mean + SIGMA * jax.random.normal(k, mean.shape)
        following, r = physics(s, u, mix)
        return following, (s, u, logp(mean, u), v, r)

    s, (seen, us, old, vs, rs) = jax.lax.scan(tick, s, jax.random.split(acting, horizon))
    _, final = net(p, s)

    def back(carry, x):
        adv, following = carry
        v, r = x
        adv = r + 0.98 * following - v + 0.98 * 0.95 * adv
        return (adv, v), adv

    _, adv = jax.lax.scan(back, (jnp.zeros_like(final), final), (vs, rs), reverse=True)
    ret = adv + vs
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (seen, us, old, adv, ret))

    def part(learner, pick):
        p, m, v = learner
        loss, g = jax.value_and_grad(loss_of)(p, jax.tree.map(lambda x: x[pick], flat))
        return adam(p, g, m, v), loss

    def epoch(learner, k):
        picks = jax.random.permutation(k, flat[0].shape[0]).reshape(parts, -1)
        return jax.lax.scan(part, learner, picks)

    learner, losses = jax.lax.scan(epoch, learner, jax.random.split(key, epochs))
    return learner, s, losses.mean()


def main() -> None:
    a = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(a)
    a.add_argument("--fixed", action="store_true")
    a.add_argument("--envs", type=int, default=4096)
    a.add_argument("--horizon", type=int, default=16)
    a.add_argument("--width", type=int, default=4096)
    args = a.parse_args()
    if args.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    key, k1, k2, k3 = jax.random.split(jax.random.key(8), 4)
    p = init(k1, (SIGHT, args.width, args.width, args.width, U + 1))
    learner = (p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p))
    s, mix = jax.random.normal(k2, (args.envs, SIGHT)), jax.random.normal(k3, (U, SIGHT))
    sizes = {"horizon": args.horizon, "epochs": 2, "parts": 4}
    learner, s, previous = iterate(learner, s, key, mix, **sizes)
    previous.block_until_ready()
    loop, total = Loop(args), 0.0
    for _ in loop:
        key, now = jax.random.split(key)
        with loop.span("learn.iterate"):
            learner, s, loss = iterate(learner, s, now, mix, **sizes)
        total += float(previous)
        previous = loss
    print(f"mean loss {total / max(loop.done, 1):.4f}")
    loop.finish(args.envs * args.horizon)


if __name__ == "__main__":
    main()
