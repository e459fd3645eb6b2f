"""A whole training in one compiled call, whose environment jits its step."""

import functools
import sys

import jax
import jax.numpy as jnp


class Line:
    @functools.partial(jax.jit, static_argnums=(0,))
    def step(self, key, state, action):
        state = state + jnp.where(action > 0, 1.0, -1.0)
        done = jnp.abs(state) > 5.0
        return jnp.stack([state, -state]), jnp.where(done, 0.0, state), -jnp.abs(state), done, {}


env = Line()


def make_train(envs, length, updates):
    def until_done(key):
        weights, state = jnp.zeros(2), jnp.zeros(envs)

        def again(carry):
            return carry[2] < length

        def once(carry):
            weights, state, count = carry
            obs, state, reward, _, _ = jax.vmap(env.step, (None, 0, 0))(key, state, state)
            return (
                weights - 0.01 * jax.grad(lambda w: jnp.mean((obs @ w - reward) ** 2))(weights),
                state,
                count + 1,
            )

        return jax.lax.while_loop(again, once, (weights, state, 0))

    def train(key):
        def update(carry, _):
            weights, state, key = carry

            def env_step(carry, _):
                state, key = carry
                key, draw = jax.random.split(key)
                action = jax.random.normal(draw, (envs,)) + weights[0] * state
                obs, state, reward, done, _ = jax.vmap(env.step)(
                    jax.random.split(draw, envs), state, action
                )
                return (state, key), (obs, reward)

            (state, key), (obs, reward) = jax.lax.scan(env_step, (state, key), None, length)

            def loss(w):
                return jnp.mean((obs @ w - reward) ** 2)

            weights = weights - 0.01 * jax.grad(loss)(weights)
            return (weights, state, key), reward.mean()

        return jax.lax.scan(update, (jnp.zeros(2), jnp.zeros(envs), key), None, updates)

    return until_done if "until-done" in sys.argv else train


train = jax.jit(make_train(envs=6, length=5, updates=4))
for seed in range(3):
    jax.block_until_ready(train(jax.random.PRNGKey(seed)))
