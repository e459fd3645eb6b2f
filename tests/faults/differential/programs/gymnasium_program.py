"""A Gymnasium environment keeps its methods, spaces, wrappers and random numbers."""

# needs: gymnasium
import inspect
import pickle
import weakref

import gymnasium as gym

env = gym.make("CartPole-v1")
state, _ = env.reset(seed=3)
env.action_space.seed(3)
total = 0.0
for _ in range(200):
    state, reward, terminated, truncated, info = env.step(env.action_space.sample())
    total += float(state[0])
    if terminated or truncated:
        state, _ = env.reset()
raw = env.unwrapped
print(
    round(total, 9),
    inspect.signature(type(raw).step),
    type(raw).step.__qualname__,
    inspect.isfunction(type(raw).step),
    inspect.getfullargspec(type(raw).reset),
)
print(
    weakref.WeakMethod(raw.step)() == raw.step,
    type(raw).step.__code__.co_name,
    len(pickle.dumps(raw)) > 0,
    env.spec.id,
    str(env),
)
print(
    inspect.getsource(type(raw).step).splitlines()[0],
    [
        name
        for name, _ in inspect.getmembers(type(raw), inspect.isfunction)
        if not name.startswith("_")
    ],
)
