"""A JAX agent whose update is never jitted: each operation is dispatched by itself.

python jax_eager.py [--seconds 10] [--fixed]
"""

from __future__ import annotations

import argparse
import json
import os
import time

OBS, ACT, ENVS = 16, 4, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu" if args.device == "cpu" else "cuda")
    import jax
    import jax.numpy as jnp

    def init(key, sizes):
        keys = jax.random.split(key, len(sizes))
        return [
            (jax.random.normal(k, (i, o)) / i**0.5, jnp.zeros(o))
            for k, i, o in zip(keys, sizes, sizes[1:], strict=False)
        ]

    def forward(params, x):
        for w, b in params[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = params[-1]
        return x @ w + b

    def env_step(state, action):
        state = 0.98 * state + 0.1 * jax.nn.one_hot(action, OBS)
        return state, -jnp.abs(state).mean(1)

    def loss_of(params, obs, action, reward):
        logp = jax.nn.log_softmax(forward(params, obs))
        chosen = jnp.take_along_axis(logp, action[:, None], 1)[:, 0]
        return -(chosen * (reward - reward.mean())).mean()

    def update(params, obs, action, reward):
        loss, grads = jax.value_and_grad(loss_of)(params, obs, action, reward)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), loss

    def act(params, key, obs):
        return jax.random.categorical(key, forward(params, obs))

    if args.fixed:
        update, act, env_step = jax.jit(update), jax.jit(act), jax.jit(env_step)
    key = jax.random.key(0)
    params = init(key, (OBS, 64, 64, ACT))
    obs = jax.random.normal(key, (ENVS, OBS))
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < args.seconds:
        key, sub = jax.random.split(key)
        action = act(params, sub, obs)
        following, reward = env_step(obs, action)
        params, loss = update(params, obs, action, reward)
        obs = following
        done += 1
        if done % 50 == 0:
            float(loss)
    jax.block_until_ready(params)
    loop_s = time.perf_counter() - begin
    steps = done * ENVS
    print(json.dumps({"loop_s": loop_s, "steps": steps, "steps_per_s": steps / loop_s}))


if __name__ == "__main__":
    main()
