# plants: recompilation @ pad = T
"""REINFORCE in JAX on a slippery corridor; one jitted update per episode."""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

FIXED = "--fixed" in sys.argv
CAP = 256


def init(key, sizes=(4, 32, 2)):
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (i, o)) / i**0.5, jnp.zeros(o)) for k, i, o in zip(keys, sizes, sizes[1:])]


def logits(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


@jax.jit
def update(params, obs, act, ret, mask):
    def loss(p):
        lp = jax.nn.log_softmax(logits(p, obs))
        chosen = jnp.take_along_axis(lp, act[:, None], 1)[:, 0]
        n = mask.sum()
        adv = (ret - (ret * mask).sum() / n) * mask
        return -(chosen * adv).sum() / n

    value, grad = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grad), value


def softmax_np(weights, x):
    for w, b in weights[:-1]:
        x = np.tanh(x @ w + b)
    w, b = weights[-1]
    z = x @ w + b
    e = np.exp(z - z.max())
    return e / e.sum()


def episode(weights, rng):
    """Walk from 0 to 12; wind pushes back now and then."""
    place, wind = 0.0, rng.uniform(0, 1)
    obs, act, rew = [], [], []
    while len(obs) < CAP:
        o = np.array([place / 12, wind, np.sin(place), 1.0], np.float32)
        a = int(rng.random() < softmax_np(weights, o)[1])
        gust = rng.random() < 0.08 + 0.1 * wind
        place = max(0.0, place + (1 if a else -1) * (-0.5 if gust else 1.0))
        obs.append(o), act.append(a), rew.append(-0.05)
        if place >= 12:
            rew[-1] += 1.0
            break
    return obs, act, rew


def main(episodes=90):
    params, rng = init(jax.random.key(0)), np.random.default_rng(0)
    steps, totals = 0, []
    start = time.perf_counter()
    for _ in range(episodes):
        weights = [(np.asarray(w), np.asarray(b)) for w, b in params]
        obs, act, rew = episode(weights, rng)
        T = len(obs)
        ret = np.cumsum(np.array(rew, np.float32)[::-1])[::-1]
        pad = T
        if FIXED:
            pad = CAP
        O, A = np.zeros((pad, 4), np.float32), np.zeros(pad, np.int32)
        R, M = np.zeros(pad, np.float32), np.zeros(pad, np.float32)
        O[:T], A[:T], R[:T], M[:T] = obs, act, ret, 1
        params, loss = update(params, O, A, R, M)
        steps += T
        totals.append(sum(rew))
    jax.block_until_ready(params)
    print(f"steps {steps} loop_s {time.perf_counter() - start:.3f} return {np.mean(totals[-20:]):.3f}")


main()
