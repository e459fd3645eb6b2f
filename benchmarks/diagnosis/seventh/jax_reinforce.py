# plants: recompilation @ batch = self.arrange(eps)
import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn


class Policy(nn.Module):
    n: int

    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(64)(x))
        x = nn.tanh(nn.Dense(64)(x))
        return nn.log_softmax(nn.Dense(self.n)(x)), nn.Dense(1)(x)[..., 0]


class Balance:
    """Keep a falling stick up; episodes end when it falls."""

    def __init__(self, seed):
        self.g = np.random.default_rng(seed)

    def reset(self):
        self.th, self.w, self.t = self.g.uniform(-0.1, 0.1), self.g.uniform(-0.1, 0.1), 0
        return np.array([self.th, self.w, self.th * 10], np.float32)

    def step(self, a):
        self.w += 0.02 * (9.8 * np.sin(self.th) + (a - 1) * 6.0) + 0.05 * self.g.normal()
        self.th += 0.02 * self.w
        self.t += 1
        return np.array([self.th, self.w, self.th * 10], np.float32), 1.0, abs(self.th) > 0.6 or self.t >= 300


class Learner:
    def __init__(self, pad, lr=3e-3):
        self.pad = pad
        self.net = Policy(3)
        self.p = self.net.init(jax.random.PRNGKey(0), jnp.zeros((1, 3)))
        self.tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(lr))
        self.s = self.tx.init(self.p)
        self._act = jax.jit(lambda p, o: self.net.apply(p, o)[0])
        self._step = jax.jit(self._raw)

    def _raw(self, p, s, o, a, g, m):
        def loss(p):
            lp, v = self.net.apply(p, o)
            adv = jax.lax.stop_gradient(g - v)
            pg = -(jnp.take_along_axis(lp, a[:, None], 1)[:, 0] * adv * m).sum()
            ent = (jnp.exp(lp) * lp).sum(-1) * m
            return (pg + 0.5 * (((v - g) ** 2) * m).sum() + 0.01 * ent.sum()) / m.sum()
        l, d = jax.value_and_grad(loss)(p)
        u, s = self.tx.update(d, s)
        return optax.apply_updates(p, u), s, l

    def act(self, o, rng):
        lp = np.asarray(self._act(self.p, o[None]))[0]
        return int((lp + rng.gumbel(size=3)).argmax())

    def arrange(self, eps):
        o, a, g = (np.concatenate(x) for x in zip(*eps))
        n = len(o)
        k = -n % 512 if self.pad else 0
        return (np.pad(o, ((0, k), (0, 0))), np.pad(a, (0, k)), np.pad(g, (0, k)),
                np.pad(np.ones(n, np.float32), (0, k)))

    def learn(self, eps):
        batch = self.arrange(eps)
        self.p, self.s, l = self._step(self.p, self.s, *batch)
        return float(l)


def discounted(r, gamma=0.98):
    out, acc = np.zeros(len(r), np.float32), 0.0
    for t in range(len(r) - 1, -1, -1):
        acc = r[t] + gamma * acc
        out[t] = acc
    return out / 30


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--updates", type=int, default=16)
    args = ap.parse_args()
    env, learner, rng = Balance(0), Learner(args.fixed), np.random.default_rng(1)
    steps, t0 = 0, time.perf_counter()
    for u in range(args.updates):
        eps, lens = [], []
        for _ in range(10):
            O, A, R, o, end = [], [], [], env.reset(), False
            while not end:
                a = learner.act(o, rng)
                O.append(o), A.append(a)
                o, r, end = env.step(a)
                R.append(r)
            eps.append((np.stack(O), np.array(A), discounted(R)))
            lens.append(len(R))
        loss = learner.learn(eps)
        steps += sum(lens)
        if u % 4 == 3:
            print(f"update {u + 1} length {np.mean(lens):.0f} loss {loss:.3f}", flush=True)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={steps}")


if __name__ == "__main__":
    main()
