# ruff: noqa  (a program as people write them, kept as it is)
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 32, rngs=rngs)
        self.b = nnx.Linear(32, 2, rngs=rngs)

    def __call__(self, x):
        return self.b(nnx.relu(self.a(x)))


net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def act(net, obs):
    return jnp.argmax(net(obs))


@nnx.jit
def train_step(net, opt, s, a, r, s2, d):
    def loss(m):
        y = r + 0.99 * (1 - d) * net(s2).max(-1)
        return ((m(s)[jnp.arange(32), a] - jax.lax.stop_gradient(y)) ** 2).mean()

    l, g = nnx.value_and_grad(loss)(net)
    opt.update(net, g)
    return l


env = gym.make("CartPole-v1")
mem = []
rng = np.random.default_rng(0)
obs, _ = env.reset(seed=0)
for t in range(1500):
    a = int(act(net, obs)) if rng.random() > 0.1 else int(rng.integers(2))
    o2, r, te, tr, _ = env.step(a)
    mem.append((obs, a, r, o2, float(te)))
    obs = o2
    if te or tr:
        obs, _ = env.reset()
    if t > 64:
        b = [np.array(c) for c in zip(*[mem[i] for i in rng.integers(len(mem), size=32)])]
        l = train_step(net, opt, *b)
print(1500, 1500 - 65, float(l))
