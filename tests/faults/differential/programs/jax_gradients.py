"""What `jax.grad` returns is JAX's own function, with the frames that it has by itself."""

# needs: jax
import gc
import inspect
import traceback
import weakref

import jax
import jax.numpy as jnp

stacks = []


def loss(x):
    stacks.append([frame.name for frame in traceback.extract_stack()])
    return jnp.sin(x).sum()


gradient, both = jax.grad(loss), jax.value_and_grad(loss)
print(gradient(1.0), both(1.0), stacks)
for f in (gradient, both):
    print(type(f), f.__name__, f.__qualname__, f.__code__.co_name, sorted(vars(f)))
    print(
        inspect.signature(f), inspect.isfunction(f), inspect.unwrap(f) is f, f.__closure__ is None
    )
print(jax.grad(gradient)(1.0), jax.jit(gradient)(1.0), jax.vmap(gradient)(jnp.ones(2)))
print(jax.jit(jax.grad(jax.jit(loss)))(2.0))
try:
    jax.grad(lambda x: missing)(1.0)  # noqa: F821
except NameError as error:
    print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
dead = []
for _ in range(50):
    each = jax.grad(loss)
    each(1.0)
    dead.append(weakref.ref(each))
del each
gc.collect()
print(sum(ref() is not None for ref in dead))
