# plants: nothing
"""Healthy: actor-critic whose environments, rollout and update are one compiled JAX program."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

ENVS, LENGTH = 512, 64
optimizer = optax.adam(3e-4)


def init(key):
    sizes = (3, 64, 64, 5)
    keys = jax.random.split(key, 3)
    return [
        (jax.random.normal(k, (a, b)) / np.sqrt(a), jnp.zeros(b))
        for k, a, b in zip(keys, sizes, sizes[1:], strict=False)
    ]


def net(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    out = x @ w + b
    return out[..., :4], out[..., 4]


def observe(state):
    return jnp.stack([jnp.cos(state[:, 0]), jnp.sin(state[:, 0]), state[:, 1] / 8], 1)


def rollout(params, state, key):
    def tick(carry, sub):
        state = carry
        obs = observe(state)
        logits, _ = net(params, obs)
        action = jax.random.categorical(sub, logits)
        torque = action.astype(jnp.float32) - 1.5
        speed = jnp.clip(state[:, 1] + 0.05 * (15 * jnp.sin(state[:, 0]) + 3 * torque), -8, 8)
        angle = (state[:, 0] + 0.05 * speed + jnp.pi) % (2 * jnp.pi) - jnp.pi
        return jnp.stack([angle, speed], 1), (obs, action, -(angle**2) - 0.1 * speed**2)

    return jax.lax.scan(tick, state, jax.random.split(key, LENGTH))


def loss(params, obs, action, target):
    logits, value = net(params, obs)
    logp = jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], -1)[..., 0]
    advantage = jax.lax.stop_gradient(target - value)
    return -(logp * advantage).mean() + ((target - value) ** 2).mean()


@jax.jit
def iteration(params, moments, state, key):
    key, sub = jax.random.split(key)
    state, (obs, action, reward) = rollout(params, state, sub)
    _, last = net(params, observe(state))
    _, target = jax.lax.scan(lambda c, r: (r + 0.97 * c,) * 2, last, reward, reverse=True)

    def epoch(carry, _):
        params, moments = carry
        gradients = jax.grad(loss)(params, obs, action, target)
        changes, moments = optimizer.update(gradients, moments)
        return (optax.apply_updates(params, changes), moments), None

    (params, moments), _ = jax.lax.scan(epoch, (params, moments), None, length=4)
    return params, moments, state, key, reward.mean()


def main():
    key = jax.random.PRNGKey(0)
    params = init(key)
    moments, state = optimizer.init(params), jax.random.uniform(key, (ENVS, 2), minval=-3, maxval=3)
    params, moments, state, key, mean = iteration(params, moments, state, key)
    mean.block_until_ready()
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        params, moments, state, key, mean = iteration(params, moments, state, key)
        float(mean)
        steps += ENVS * LENGTH
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
