"""REINFORCE with a baseline in JAX/optax: play an episode, then one update from it."""

# plants: recompilation @ params, opt_state, loss = update(params, opt_state, obs, act, ret, mask)
import argparse
import time

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import optax


def init_params(key, sizes):
    params = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        params.append({"w": jax.random.normal(sub, (m, n)) * np.sqrt(2.0 / m), "b": jnp.zeros(n)})
    return params


def mlp(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(3e-3))


@jax.jit
def policy_probs(params, obs):
    return jax.nn.softmax(mlp(params["pi"], obs))


def loss_fn(params, obs, act, ret, mask):
    logp = jax.nn.log_softmax(mlp(params["pi"], obs))
    logp = jnp.take_along_axis(logp, act[:, None], 1)[:, 0]
    value = mlp(params["v"], obs)[:, 0]
    adv = jax.lax.stop_gradient(ret - value)
    entropy = -jnp.sum(jnp.exp(logp) * logp * mask) / mask.sum()
    pg = -jnp.sum(adv * logp * mask) / mask.sum()
    return pg + 0.5 * jnp.sum((ret - value) ** 2 * mask) / mask.sum() - 0.01 * entropy


@jax.jit
def update(params, opt_state, obs, act, ret, mask):
    loss, grads = jax.value_and_grad(loss_fn)(params, obs, act, ret, mask)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def discount(rewards, gamma=0.99):
    out, run = np.zeros(len(rewards), np.float32), 0.0
    for i in range(len(rewards) - 1, -1, -1):
        run = rewards[i] + gamma * run
        out[i] = run
    return out / 20.0


def play(env, params, rng):
    obs, _ = env.reset(seed=int(rng.integers(1 << 30)))
    O, A, R = [], [], []
    done = False
    while not done:
        p = np.asarray(policy_probs(params, obs))
        a = int(rng.random() > p[0])
        O.append(obs)
        A.append(a)
        obs, r, term, trunc, _ = env.step(a)
        R.append(r)
        done = term or trunc
    return np.array(O, np.float32), np.array(A, np.int32), discount(R)


def pad(x, n):
    return np.pad(x, [(0, n - len(x))] + [(0, 0)] * (x.ndim - 1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=600)
    ap.add_argument("--fixed", action="store_true")
    a = ap.parse_args()
    env = gym.make("CartPole-v1", max_episode_steps=400)
    k1, k2 = jax.random.split(jax.random.PRNGKey(0))
    params = {"pi": init_params(k1, (4, 64, 64, 2)), "v": init_params(k2, (4, 64, 64, 1))}
    opt_state = optimizer.init(params)
    rng = np.random.default_rng(0)
    total, episodes, lengths = 0, 0, []
    start = time.perf_counter()
    while total < a.steps:
        obs, act, ret = play(env, params, rng)
        n = len(obs)
        mask = np.ones(n, np.float32)
        if a.fixed:
            obs, act, ret, mask = (pad(x, 400) for x in (obs, act, ret, mask))
        params, opt_state, loss = update(params, opt_state, obs, act, ret, mask)
        total += n
        episodes += 1
        lengths.append(n)
        if episodes % 20 == 0:
            print(
                f"episode {episodes} steps {total} length {np.mean(lengths[-20:]):.1f} loss {float(loss):.3f}"
            )
    print(f"loop_s {time.perf_counter() - start:.3f} steps {total}")


if __name__ == "__main__":
    main()
