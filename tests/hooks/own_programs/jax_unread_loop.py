# ruff: noqa  (a program as people write them, kept as it is)
"""A whole training in one scan, with an environment that is a class; the results are never read."""

import jax
import jax.numpy as jnp


class PointEnv:
    def reset(self, key):
        return 0.1 * jax.random.normal(key, (16, 4))

    def step(self, state, action, key):
        state = state + 0.1 * (action[:, None] - 0.5) + 0.01 * jax.random.normal(key, state.shape)
        done = jnp.abs(state).max(-1) > 1
        return jnp.where(done[:, None], 0.0, state), -jnp.abs(state).sum(-1), done, {}


env = PointEnv()


def update_step(carry, key):
    params, state = carry

    def roll(state, key):
        action = jax.random.categorical(key, state @ params)
        after, reward, done, _ = env.step(state, action, key)
        return after, (state, action, reward)

    state, (states, actions, rewards) = jax.lax.scan(roll, state, jax.random.split(key, 64))

    def loss(p):
        chosen = jnp.take_along_axis(jax.nn.log_softmax(states @ p), actions[..., None], -1)
        return -(chosen[..., 0] * rewards).mean()

    return (params - 0.01 * jax.grad(loss)(params), state), rewards.mean()


@jax.jit
def update_many(key):
    carry = jnp.zeros((4, 2)), env.reset(key)
    return jax.lax.scan(update_step, carry, jax.random.split(key, 6000))


out = update_many(jax.random.PRNGKey(0))
