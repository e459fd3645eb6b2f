"""Healthy: policy gradient whose whole update, rollout included, is one compiled JAX function."""

# plants: nothing
import jax
import jax.numpy as jnp
import optax

optimizer = optax.adam(1e-2)


def rollout(weights, key):
    def one(state, key):
        logits = state @ weights
        action = jax.random.categorical(key, logits)
        state = state.at[:, 0].add(0.1 * (action - 1.0)) * 0.99
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
        return state, (logp, -jnp.abs(state[:, 0]))

    _, (logp, reward) = jax.lax.scan(one, jnp.ones((512, 16)), jax.random.split(key, 100))
    reward = jnp.cumsum(reward[::-1], 0)[::-1]
    return -(logp * jax.lax.stop_gradient(reward - reward.mean(1, keepdims=True))).mean()


@jax.jit
def update(weights, state, key):
    grads = jax.grad(rollout)(weights, key)
    changes, state = optimizer.update(grads, state)
    return optax.apply_updates(weights, changes), state


weights = jnp.zeros((16, 3))
state = optimizer.init(weights)
for step in range(150):
    weights, state = update(weights, state, jax.random.PRNGKey(step))
weights.block_until_ready()
