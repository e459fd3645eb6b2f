"""Actor-critic in JAX/flax where environment, acting and learning are one compiled scan."""

# plants: nothing
import argparse
import time
from functools import partial
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

N_ENVS, ROLLOUT, CHUNK = 256, 32, 10


class State(NamedTuple):
    pos: jax.Array
    vel: jax.Array
    goal: jax.Array
    t: jax.Array


def env_reset(key):
    k1, k2 = jax.random.split(key)
    return State(
        jax.random.uniform(k1, (2,), minval=-1, maxval=1),
        jnp.zeros(2),
        jax.random.uniform(k2, (2,), minval=-1, maxval=1),
        jnp.zeros((), jnp.int32),
    )


def env_obs(s):
    return jnp.concatenate([s.pos, s.vel, s.goal - s.pos])


def env_step(s, a, key):
    vel = 0.9 * s.vel + 0.1 * jnp.clip(a, -1, 1)
    pos = jnp.clip(s.pos + 0.2 * vel, -2, 2)
    reward = -jnp.linalg.norm(s.goal - pos)
    done = s.t >= 63
    moved = State(pos, vel, s.goal, s.t + 1)
    fresh = env_reset(key)
    return jax.tree.map(lambda f, m: jnp.where(done, f, m), fresh, moved), reward, done


class ActorCritic(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.tanh(nn.Dense(128)(x))
        h = nn.tanh(nn.Dense(128)(h))
        return (
            nn.Dense(2)(h),
            self.param("logstd", nn.initializers.zeros, (2,)),
            nn.Dense(1)(h)[..., 0],
        )


net = ActorCritic()
tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(7e-4))


def logprob(mean, logstd, a):
    return jnp.sum(-0.5 * ((a - mean) / jnp.exp(logstd)) ** 2 - logstd, -1)


def loss_fn(params, obs, act, ret):
    mean, logstd, v = net.apply(params, obs)
    adv = jax.lax.stop_gradient(ret - v)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    return (
        -(logprob(mean, logstd, act) * adv).mean()
        + 0.5 * ((ret - v) ** 2).mean()
        - 0.005 * logstd.sum()
    )


def iteration(carry, _):
    params, opt_state, envs, key = carry

    def act_step(c, _):
        envs, key = c
        key, ka, ke = jax.random.split(key, 3)
        obs = jax.vmap(env_obs)(envs)
        mean, logstd, _ = net.apply(params, obs)
        a = mean + jnp.exp(logstd) * jax.random.normal(ka, mean.shape)
        envs, r, d = jax.vmap(env_step)(envs, a, jax.random.split(ke, N_ENVS))
        return (envs, key), (obs, a, r, d)

    (envs, key), (obs, act, rew, done) = jax.lax.scan(act_step, (envs, key), None, ROLLOUT)
    last = net.apply(params, jax.vmap(env_obs)(envs))[2]

    def back(g, x):
        r, d = x
        g = r + 0.97 * g * (1 - d)
        return g, g

    _, ret = jax.lax.scan(back, last, (rew, done), reverse=True)

    def epoch(c, _):
        p, o = c
        grads = jax.grad(loss_fn)(p, obs.reshape(-1, 6), act.reshape(-1, 2), ret.reshape(-1))
        upd, o = tx.update(grads, o, p)
        return (optax.apply_updates(p, upd), o), None

    (params, opt_state), _ = jax.lax.scan(epoch, (params, opt_state), None, 2)
    return (params, opt_state, envs, key), rew.mean()


@partial(jax.jit, donate_argnums=0)
def chunk(carry):
    return jax.lax.scan(iteration, carry, None, CHUNK)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1600000)
    ap.add_argument(
        "--fixed", action="store_true", help="no effect, there is nothing to switch off"
    )
    args = ap.parse_args()
    key, k1, k2 = jax.random.split(jax.random.PRNGKey(0), 3)
    params = net.init(k1, jnp.zeros((1, 6)))
    carry = (params, tx.init(params), jax.vmap(env_reset)(jax.random.split(k2, N_ENVS)), key)
    steps, per_chunk, i = 0, N_ENVS * ROLLOUT * CHUNK, 0
    start = time.perf_counter()
    while steps < args.steps:
        carry, rewards = chunk(carry)
        steps += per_chunk
        i += 1
        if i % 5 == 0:
            print(steps, "reward", round(float(rewards[-1]), 4))
    jax.block_until_ready(carry)
    print(f"loop_s {time.perf_counter() - start:.3f} steps {steps}")


if __name__ == "__main__":
    main()
