# plants: recompilation @ improve = jax.jit(gradient_step, static_argnames="bonus")
"""Advantage actor-critic in JAX on a grid of leaking tanks; exploration is annealed.

python annealed.py [--seconds 10] [--fixed] [--truth FILE]
"""

from __future__ import annotations

import argparse
from functools import partial

import jax
import jax.numpy as jnp
from truth import Loop

TANKS, VALVES, LEVELS = 12, 5, 0.97


def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(k, (i, o)) / jnp.sqrt(i), jnp.zeros(o))
        for k, i, o in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def apply(params, x):
    for w, b in params[:-1]:
        x = jax.nn.tanh(x @ w + b)
    w, b = params[-1]
    out = x @ w + b
    return out[..., :VALVES], out[..., VALVES]


def flow(level, valve):
    inflow = jax.nn.one_hot(valve, TANKS)
    level = LEVELS * level + 0.1 * inflow + 0.02 * (jnp.roll(level, 1, -1) - level)
    return level, -jnp.square(level - 0.5).sum(-1)


@partial(jax.jit, static_argnames="horizon")
def rollout(params, level, key, horizon):
    def tick(level, key):
        logits, _ = apply(params, level)
        valve = jax.random.categorical(key, logits)
        following, reward = flow(level, valve)
        return following, (level, valve, reward)

    level, (seen, valves, rewards) = jax.lax.scan(tick, level, jax.random.split(key, horizon))
    _, value = apply(params, level)

    def back(goal, reward):
        goal = reward + 0.97 * goal
        return goal, goal

    _, goals = jax.lax.scan(back, value, rewards, reverse=True)
    return level, (seen, valves, goals)


def objective(params, batch, bonus):
    seen, valves, goals = batch
    logits, value = apply(params, seen)
    logp = jax.nn.log_softmax(logits)
    taken = jnp.take_along_axis(logp, valves[..., None], -1)[..., 0]
    gain = goals - value
    entropy = -(jnp.exp(logp) * logp).sum(-1).mean()
    policy = -(taken * jax.lax.stop_gradient(gain)).mean()
    return policy + 0.5 * jnp.square(gain).mean() - bonus * entropy


def gradient_step(params, moments, batch, bonus):
    loss, grads = jax.value_and_grad(objective)(params, batch, bonus)
    first, second = moments
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, grads)
    params = jax.tree.map(
        lambda p, m, v: p - 3e-4 * m / (jnp.sqrt(v) + 1e-6), params, first, second
    )
    return params, (first, second), loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--envs", type=int, default=2048)
    parser.add_argument("--horizon", type=int, default=16)
    parser.add_argument("--width", type=int, default=256)
    args = parser.parse_args()
    if args.device == "cpu":
        jax.config.update("jax_platforms", "cpu")
    if args.fixed:
        improve = jax.jit(gradient_step)
    else:
        improve = jax.jit(gradient_step, static_argnames="bonus")
    key, start = jax.random.split(jax.random.key(7))
    params = init(start, (TANKS, args.width, args.width, VALVES + 1))
    moments = (jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params))
    level = jax.random.uniform(key, (args.envs, TANKS))
    last, losses = jnp.zeros(()), []
    level, batch = rollout(params, level, key, args.horizon)
    improve(params, moments, batch, bonus=0.02)
    loop = Loop(args)
    for i in loop:
        bonus = round(0.02 * 0.9995**i, 4)
        key, now = jax.random.split(key)
        with loop.span("policy.act"):
            level, batch = rollout(params, level, now, args.horizon)
        with loop.span("learn.step"):
            params, moments, loss = improve(params, moments, batch, bonus=bonus)
        losses.append(float(last))
        last = loss
    print(f"loss {sum(losses[-20:]) / len(losses[-20:]):.4f}")
    loop.finish(args.envs * args.horizon)


if __name__ == "__main__":
    main()
