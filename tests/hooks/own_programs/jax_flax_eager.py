# ruff: noqa  (a program as people write them, kept as it is)
"""Flax eager apply for acting, jitted value_and_grad, eager optax update; PPO-like rollouts."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn


class AC(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(32)(x))
        return nn.Dense(2)(x), nn.Dense(1)(x)[..., 0]


env = gym.make("CartPole-v1")
model = AC()
params = model.init(jax.random.PRNGKey(0), jnp.zeros((1, 4)))
tx = optax.adam(1e-3)
opt = tx.init(params)
key = jax.random.PRNGKey(1)


def loss_fn(p, obs, act, ret, adv):
    lo, v = model.apply(p, obs)
    lp = jax.nn.log_softmax(lo)[jnp.arange(len(act)), act]
    return -(lp * adv).mean() + ((v - ret) ** 2).mean()


grad_fn = jax.jit(jax.value_and_grad(loss_fn))
obs, _ = env.reset(seed=0)
for it in range(24):
    O, A, R, D, V = [], [], [], [], []
    for t in range(64):
        logits, v = model.apply(params, obs[None])
        key, k = jax.random.split(key)
        a = int(jax.random.categorical(k, logits[0]))
        O.append(obs)
        A.append(a)
        V.append(float(v[0]))
        obs, r, te, tr, _ = env.step(a)
        R.append(r)
        D.append(te or tr)
        if te or tr:
            obs, _ = env.reset()
    adv = np.zeros(64, "f")
    last = 0
    nv = float(model.apply(params, obs[None])[1][0])
    for t in reversed(range(64)):
        delta = R[t] + 0.99 * nv * (1 - D[t]) - V[t]
        last = delta + 0.95 * 0.99 * (1 - D[t]) * last
        adv[t] = last
        nv = V[t]
    ret = adv + np.array(V, "f")
    for e in range(4):
        l, g = grad_fn(params, np.array(O), np.array(A), ret, adv)
        u, opt = tx.update(g, opt)
        params = optax.apply_updates(params, u)
print(24 * 64, 24 * 4)
