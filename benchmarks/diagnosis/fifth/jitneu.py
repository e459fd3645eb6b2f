# plants: recompilation @ step = jax.jit(
"""DDPG in JAX with optax; the jitted update is made again for each new exploration rate."""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

FIXED = "--fixed" in sys.argv


class Tank:
    """Keep two coupled tanks at their levels."""

    def reset(self):
        self.h, self.goal, self.t = np.random.uniform(0, 1, 2), np.random.uniform(0.3, 0.8, 2), 0
        return np.concatenate([self.h, self.goal]).astype(np.float32)

    def step(self, pump):
        flow = 0.3 * np.sqrt(np.maximum(self.h, 0))
        self.h = np.clip(self.h + 0.1 * (np.asarray(pump) - flow + 0.2 * flow[::-1]), 0, 2)
        self.t += 1
        return (
            np.concatenate([self.h, self.goal]).astype(np.float32),
            -np.abs(self.h - self.goal).sum(),
            self.t >= 100,
        )


def dense(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(k, (a, b)) / np.sqrt(a), jnp.zeros(b))
        for k, a, b in zip(keys, sizes, sizes[1:], strict=False)
    ]


def forward(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


@jax.jit
def act(actor, state, key, noise):
    return jnp.clip(
        jax.nn.sigmoid(forward(actor, state)) + noise * jax.random.normal(key, (2,)), 0, 1
    )


optimizer = optax.adam(1e-3)


def update(params, moments, batch, smoothing):
    s, a, r, n = batch

    def loss(p):
        follow = jax.nn.sigmoid(forward(p["actor"], n))
        goal = r + 0.97 * forward(
            jax.lax.stop_gradient(p["critic"]), jnp.concatenate([n, follow], 1)
        )
        error = forward(p["critic"], jnp.concatenate([s, a], 1)) - jax.lax.stop_gradient(goal)
        own = jax.nn.sigmoid(forward(p["actor"], s))
        value = forward(jax.lax.stop_gradient(p["critic"]), jnp.concatenate([s, own], 1))
        return (error**2).mean() - smoothing * value.mean()

    gradients = jax.grad(loss)(params)
    changes, moments = optimizer.update(gradients, moments)
    return optax.apply_updates(params, changes), moments


def main():
    key = jax.random.PRNGKey(0)
    params = {"actor": dense(key, (4, 64, 64, 2)), "critic": dense(key, (6, 64, 64, 1))}
    moments, env = optimizer.init(params), Tank()
    data = [np.zeros((10000, k), np.float32) for k in (4, 2, 1, 4)]
    state, noise, steps = env.reset(), 0.3, 0
    compiled = jax.jit(update)
    start = time.perf_counter()
    while time.perf_counter() - start < 9:
        for _ in range(50):
            key, sub = jax.random.split(key)
            action = np.asarray(act(params["actor"], state, sub, noise))
            after, reward, over = env.step(action)
            for column, value in zip(data, (state, action, reward, after), strict=True):
                column[steps % 10000] = value
            state = env.reset() if over else after
            steps += 1
        noise *= 0.995
        step = compiled
        if not FIXED:
            step = jax.jit(lambda p, m, b, weight=noise: update(p, m, b, weight))
        for _ in range(25):
            rows = np.random.randint(0, min(steps, 10000), 128)
            batch = [column[rows] for column in data]
            params, moments = step(params, moments, batch, noise)
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
