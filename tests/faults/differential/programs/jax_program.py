"""Jitted functions of JAX are what they are without hotloop."""

# needs: jax
import copy
import functools
import gc
import inspect
import pickle
import weakref

import jax
import jax.numpy as jnp

try:
    from cloudpickle import dumps
except ImportError:
    dumps = None


@jax.jit
def act(x):
    """Acts."""
    print("traced")
    return jnp.sin(x) * 2


@functools.partial(jax.jit, static_argnames="n")
def power(x, n):
    return x**n


@jax.jit(static_argnames="n")
def repeat(x, *, n):
    return jnp.tile(x, n)


@jax.jit
def update(params, x):
    gradient = jax.grad(lambda p: (act(p) * power(x, 2)).sum())(params)
    return params - 0.1 * gradient


class Agent:
    def __init__(self):
        self.act = jax.jit(lambda x: x + self.bias)
        self.bias = 1.0

    @functools.partial(jax.jit, static_argnums=0)
    def learn(self, x):
        return x * self.bias


one = jnp.ones(2)
for f in (act, power, repeat, update, Agent.learn):
    print(type(f), repr(f).partition(" at ")[0], inspect.signature(f), f.__doc__, dir(f))
    print(sorted(vars(f)), isinstance(f, jax.stages.Wrapped), inspect.isfunction(f), callable(f))
    print(weakref.ref(f)() is f, {f: 1}[f], type(copy.copy(f)), type(copy.deepcopy(f)))
print(jax.jit(static_argnames="n"))
print(act(1.0), act(2.0), power(one, 3), repeat(one, n=2), update(one, one), Agent().learn(one))
print(jax.make_jaxpr(act)(1.0), jax.make_jaxpr(update)(one, one))
print(jax.jit(lambda x: act(x) + act(x + 1)).lower(1.0).as_text())
print(jax.vmap(act)(one), jax.grad(act)(1.0), jax.jit(act)(1.0), jax.jit(jax.jit(act))(1.0))
print(jax.lax.scan(lambda c, x: (act(c) + x, c), 0.0, one), jax.checkpoint(act)(1.0))
print(act.trace(1.0).jaxpr, act.eval_shape(1.0), act.lower(1.0).compile()(3.0))
print(act._cache_size(), act.clear_cache(), act._cache_size())
with jax.disable_jit():
    print(act(1.0))

try:
    pickle.dumps(act)
except pickle.PicklingError as error:
    print(str(error).partition(" at ")[0])
if dumps is not None:
    print(pickle.loads(dumps(act))(1.0), pickle.loads(dumps(lambda x: act(x) + 1))(1.0))
for wrong in ((), (1, 2), ("a",)):
    try:
        act(*wrong)
    except TypeError as error:
        print(str(error).partition(" at ")[0])

agent = Agent()
agent.act(one)
gone = [weakref.ref(agent.act), weakref.ref(jax.jit(lambda x: x))]
del agent
jax.clear_caches()
gc.collect()
print([ref() for ref in gone])
