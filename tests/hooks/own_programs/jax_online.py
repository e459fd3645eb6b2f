# ruff: noqa  (a program as people write them, kept as it is)
"""Online actor-critic and key splitting in Python; vector env."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

envs = gym.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
key = jax.random.PRNGKey(0)


def init(key):
    k1, k2, k3 = jax.random.split(key, 3)
    return {
        "w": jax.random.normal(k1, (4, 64)) * 0.3,
        "pi": jax.random.normal(k2, (64, 2)) * 0.1,
        "v": jax.random.normal(k3, (64, 1)) * 0.1,
    }


def forward(p, x):
    h = jnp.tanh(x @ p["w"])
    return h @ p["pi"], (h @ p["v"])[..., 0]


@jax.jit
def get_action(params, obs, key):
    return jax.random.categorical(key, forward(params, obs)[0])


@jax.jit
def train_step(params, obs, action, reward, next_obs, done):
    def loss(p):
        lo, v = forward(p, obs)
        _, v2 = forward(p, next_obs)
        td = reward + 0.99 * jax.lax.stop_gradient(v2) * (1 - done) - v
        lp = jnp.take_along_axis(jax.nn.log_softmax(lo), action[:, None], 1)[:, 0]
        return (td**2 - lp * jax.lax.stop_gradient(td)).mean()

    l, g = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, g), l


params = init(key)
obs, _ = envs.reset(seed=0)
returns = np.zeros(4)
hist = []
for step in range(3000):
    key, sub = jax.random.split(key)
    action = np.asarray(get_action(params, obs, sub))
    nxt, r, te, tr, _ = envs.step(action)
    params, l = train_step(params, obs, action, r, nxt, te.astype(np.float32))
    returns += r
    for i in range(4):
        if te[i] or tr[i]:
            hist.append(returns[i])
            returns[i] = 0
    obs = nxt
print(4 * 3000, len(hist), 3000)
