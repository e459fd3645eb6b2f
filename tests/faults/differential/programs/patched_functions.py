"""Functions of Python that a test replaces are called by the program alone."""

# needs: gymnasium
import builtins
import io
import json
import os
import pickle
import subprocess
import time

import gymnasium

env = gymnasium.make("CartPole-v1")
env.reset(seed=1)
calls = []
FUNCTIONS = {
    os: ("getpid", "getppid", "listdir", "scandir", "open", "write", "close", "fstat", "stat")
    + ("unlink", "mkdir", "makedirs", "rename", "getcwd", "sched_getaffinity", "times"),
    io: ("open",),
    builtins: ("open",),
    json: ("dump", "dumps", "load", "loads"),
    pickle: ("dump", "dumps", "load", "loads"),
    subprocess: ("Popen", "run"),
}


def replaced(name, function):
    def counting(*args, **kwargs):
        calls.append(name)
        return function(*args, **kwargs)

    return counting


before = {(m, name): getattr(m, name) for m, names in FUNCTIONS.items() for name in names}
for (module, name), function in before.items():
    setattr(module, name, replaced(name, function))
end = time.monotonic() + 2.5
while time.monotonic() < end:
    if env.step(env.action_space.sample())[2]:
        env.reset()
for (module, name), function in before.items():
    setattr(module, name, function)
print(calls)
