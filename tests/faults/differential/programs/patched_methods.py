"""mock.patch.object and hand-made patches see and restore the same method."""

from unittest import mock


class Env:
    def reset(self):
        return 0

    def step(self, action):
        return "real"


env = Env()
env.reset()
print([env.step(0) for _ in range(3)])
before = vars(Env)["step"]
with mock.patch.object(Env, "step", autospec=True, return_value="mocked") as patched:
    print(env.step(1), patched.call_args)
print(vars(Env)["step"] is before, env.step(0))
old = Env.step
Env.step = lambda self, action: ("around", old(self, action))
print(env.step(0))
Env.step = old
print(env.step(0), "step" in vars(env))
