"""Weak references to bound methods live as long as the object."""

import gc
import weakref


class Env:
    def reset(self):
        return 0

    def step(self, action):
        return 0, 0.0, False, {}


env = Env()
env.reset()
for _ in range(50):
    env.step(0)
method = weakref.WeakMethod(env.step)
print(method() == env.step, method()(0), env.step.__func__ is Env.step, env.step.__self__ is env)
plain = weakref.ref(Env.step)
print(plain() is Env.step)
del env
gc.collect()
print(method())
