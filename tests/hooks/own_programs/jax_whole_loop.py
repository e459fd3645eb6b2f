# ruff: noqa  (a program as people write them, kept as it is)

import jax
import jax.numpy as jnp


def env_step(s, a, k):
    s2 = s + 0.1 * (a - 0.5) + 0.01 * jax.random.normal(k, s.shape)
    return s2, -jnp.abs(s2).sum(-1), jnp.abs(s2).max(-1) > 1


def make_train(n):
    def train(rng):
        params = {"w": jnp.zeros((4, 2)), "b": jnp.zeros(2)}

        def update_step(carry, _):
            params, s, rng = carry
            rng, k1, k2 = jax.random.split(rng, 3)

            def roll(c, k):
                s = c
                logits = s @ params["w"] + params["b"]
                a = jax.random.categorical(k, logits)
                s2, r, d = env_step(s, a[:, None], k)
                return jnp.where(d[:, None], 0.0, s2), (s, a, r)

            s, traj = jax.lax.scan(roll, s, jax.random.split(k1, 32))

            def loss(p):
                lp = jax.nn.log_softmax(traj[0] @ p["w"] + p["b"])
                return -(jnp.take_along_axis(lp, traj[1][..., None], -1)[..., 0] * traj[2]).mean()

            g = jax.grad(loss)(params)
            params = jax.tree.map(lambda p, g: p - 0.01 * g, params, g)
            return (params, s, rng), traj[2].mean()

        return jax.lax.scan(update_step, (params, jnp.zeros((16, 4)), rng), None, n)

    return train


train = jax.jit(make_train(3000))
out, rew = train(jax.random.PRNGKey(0))
jax.block_until_ready(rew)
print(float(rew[-1]))
