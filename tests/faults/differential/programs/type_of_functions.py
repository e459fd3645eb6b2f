"""Tables that are keyed by type find functions of the script: dill, copy and others have such."""

import pickle
import types
import weakref


class Env:
    def reset(self):
        return 0

    def step(self, action):
        return action, 0.0, action > 5, {}


class ByValue(pickle._Pickler):
    """Sends functions as they are, as dill does."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_function(self, function):
        print("function", function.__qualname__)
        self.save_reduce(getattr, (Env, function.__name__), obj=function)

    dispatch[types.FunctionType] = save_function


env = Env()
for _ in range(3):
    env.reset()
    for action in range(8):
        env.step(action)


class Sink:
    def write(self, part):
        pass


for function in (Env.step, Env.reset):
    kind = type(function)
    ByValue(Sink()).dump(function)
    print(
        kind == types.FunctionType,
        types.FunctionType == kind,
        kind != types.FunctionType,
        kind in {types.FunctionType, int},
        {types.FunctionType: "found"}.get(kind),
        weakref.ref(kind) == weakref.ref(types.FunctionType),
        hash(kind) == hash(types.FunctionType),
        repr(kind),
        isinstance(kind, type),
        issubclass(kind, types.FunctionType),
    )
