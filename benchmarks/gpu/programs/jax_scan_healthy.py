"""A JAX actor-critic: rollout and updates in one compiled call per iteration: healthy.

python jax_scan_healthy.py [--seconds 10]
"""

from __future__ import annotations

import argparse
import json
import os
import time

OBS, ACT, HORIZON = 64, 8, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument("--width", type=int, default=1024)
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
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        out = x @ w + b
        return out[..., :ACT], out[..., ACT]

    def env_step(state, action):
        with jax.named_scope("env_step"):
            state = jnp.sin(state + 0.1 * jax.nn.one_hot(action, OBS))
            return state, state.mean(-1)

    def loss_of(params, obs, action, ret):
        logits, value = forward(params, obs)
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], -1)[..., 0]
        adv = ret - value
        return (adv**2).mean() - (logp * jax.lax.stop_gradient(adv)).mean()

    @jax.jit
    def iteration(params, state, key):
        def step(carry, _):
            state, key = carry
            key, sub = jax.random.split(key)
            action = jax.random.categorical(sub, forward(params, state)[0])
            following, reward = env_step(state, action)
            return (following, key), (state, action, reward)

        (state, key), (obs, action, reward) = jax.lax.scan(step, (state, key), None, HORIZON)

        def update(params, _):
            grads = jax.grad(loss_of)(params, obs, action, reward)
            return jax.tree.map(lambda p, g: p - 1e-4 * g, params, grads), None

        params, _ = jax.lax.scan(update, params, None, 4)
        return params, state, key, reward.mean()

    key = jax.random.key(0)
    params = init(key, (OBS, args.width, args.width, args.width, ACT + 1))
    state = jax.random.normal(key, (args.envs, OBS))
    params, state, key, reward = jax.block_until_ready(iteration(params, state, key))
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < args.seconds:
        params, state, key, reward = iteration(params, state, key)
        float(reward)
        done += 1
    loop_s = time.perf_counter() - begin
    steps = done * args.envs * HORIZON
    print(json.dumps({"loop_s": loop_s, "steps": steps, "steps_per_s": steps / loop_s}))


if __name__ == "__main__":
    main()
