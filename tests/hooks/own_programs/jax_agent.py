# ruff: noqa  (a program as people write them, kept as it is)
"""One jitted function stores, learns and acts."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from typing import NamedTuple, Any


class AgentState(NamedTuple):
    params: Any
    target: Any
    buf: Any
    pos: Any
    key: Any
    obs: Any
    action: Any
    t: Any


N = 5000


def init_params(key):
    ks = jax.random.split(key, 3)
    sizes = [4, 64, 64, 2]
    return [
        (jax.random.normal(k, (a, b)) / np.sqrt(a), jnp.zeros(b))
        for k, a, b in zip(ks, sizes, sizes[1:])
    ]


def net(p, x):
    for w, b in p[:-1]:
        x = jax.nn.relu(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


def loss_fn(p, tp, s, a, r, s2, d):
    q = jnp.take_along_axis(net(p, s), a[:, None], 1)[:, 0]
    y = r + 0.99 * (1 - d) * net(tp, s2).max(1)
    return jnp.mean((q - y) ** 2)


class Agent:
    def __init__(self):
        p = init_params(jax.random.PRNGKey(0))
        buf = dict(
            s=jnp.zeros((N, 4)),
            a=jnp.zeros(N, jnp.int32),
            r=jnp.zeros(N),
            s2=jnp.zeros((N, 4)),
            d=jnp.zeros(N),
        )
        self.state = AgentState(
            p, p, buf, jnp.int32(0), jax.random.PRNGKey(1), jnp.zeros(4), jnp.int32(0), jnp.int32(0)
        )
        self._step = jax.jit(self._agent_step)

    @staticmethod
    def _agent_step(state, obs, reward, done):
        i = state.pos % N
        b = state.buf
        buf = dict(
            s=b["s"].at[i].set(state.obs),
            a=b["a"].at[i].set(state.action),
            r=b["r"].at[i].set(reward),
            s2=b["s2"].at[i].set(obs),
            d=b["d"].at[i].set(done),
        )
        key, k1, k2, k3 = jax.random.split(state.key, 4)
        idx = jax.random.randint(k1, (64,), 0, jnp.minimum(state.pos + 1, N))
        batch = [buf[k][idx] for k in ("s", "a", "r", "s2", "d")]
        g = jax.grad(loss_fn)(state.params, state.target, *batch)
        params = jax.tree.map(lambda p, g: p - 1e-3 * g, state.params, g)
        target = jax.tree.map(
            lambda t, p: jnp.where(state.t % 200 == 0, p, t), state.target, params
        )
        a = jnp.where(
            jax.random.uniform(k2) < 0.1,
            jax.random.randint(k3, (), 0, 2),
            jnp.argmax(net(params, obs)),
        )
        return AgentState(params, target, buf, state.pos + 1, key, obs, a, state.t + 1), a

    def step(self, obs, reward, done):
        self.state, a = self._step(self.state, obs, reward, done)
        return int(a)


def main():
    env = gym.make("CartPole-v1")
    agent = Agent()
    obs, _ = env.reset(seed=0)
    r, d = 0.0, False
    ep = 0
    returns = []
    total = 0
    for t in range(3000):
        a = agent.step(obs, r, d)
        obs, r, term, trunc, _ = env.step(a)
        d = term
        total += r
        if term or trunc:
            returns.append(total)
            total = 0
            obs, _ = env.reset()
    print(3000, len(returns), sum(returns))


main()
