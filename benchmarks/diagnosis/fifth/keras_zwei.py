# plants: predict-in-loop @ values = self.model.predict(
# plants: checkpointing @ agent.model.save(
"""Keras DQN of a tutorial: predict for each action (larger), the whole model saved often
(smaller).
"""

import collections
import os
import random
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv


class Pole:
    def reset(self):
        self.x = np.random.uniform(-0.05, 0.05, 4)
        self.left = 200
        return self.x.astype(np.float32)

    def step(self, action):
        x, v, angle, spin = self.x
        force = 10.0 if action else -10.0
        pull = (force + 0.05 * spin**2 * np.sin(angle)) / 1.1
        turn = (9.8 * np.sin(angle) - np.cos(angle) * pull) / (
            0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1)
        )
        push = pull - 0.05 * turn * np.cos(angle) / 1.1
        self.x = np.array([x + 0.02 * v, v + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn])
        self.left -= 1
        done = abs(self.x[0]) > 2.4 or abs(self.x[2]) > 0.21 or self.left == 0
        return self.x.astype(np.float32), 1.0, done


class Agent:
    def __init__(self):
        self.memory = collections.deque(maxlen=2000)
        self.epsilon = 0.3
        self.model = keras.Sequential(
            [
                keras.Input((4,)),
                keras.layers.Dense(24, "relu"),
                keras.layers.Dense(24, "relu"),
                keras.layers.Dense(2),
            ]
        )
        self.model.compile(loss="mse", optimizer=keras.optimizers.Adam(1e-3))

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(2)
        if FIX1:
            values = self.model(state[None], training=False).numpy()
        else:
            values = self.model.predict(state[None], verbose=0)
        return int(np.argmax(values[0]))

    def replay(self, size=32):
        rows = random.sample(self.memory, size)
        s, a, r, n, d = (np.array(x) for x in zip(*rows, strict=True))
        target = self.model(s, training=False).numpy()
        target[np.arange(size), a] = r + 0.95 * (1 - d) * self.model(n, training=False).numpy().max(
            1
        )
        return self.model.train_on_batch(s, target)


def main():
    env, agent, steps = Pole(), Agent(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "agent.keras")
        state, start = env.reset(), time.perf_counter()
        while time.perf_counter() - start < 9:
            action = agent.act(state)
            after, reward, done = env.step(action)
            agent.memory.append((state, action, reward, after, float(done)))
            state = env.reset() if done else after
            steps += 1
            if len(agent.memory) > 32 and steps % 4 == 0:
                agent.replay()
            if steps % (2000 if FIX2 else 20) == 0:
                agent.model.save(path)
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
