# plants: per-sample-update @ model.train_on_batch(s[i : i + 1]
"""Keras DQN for stock keeping; experience replay. (per-sample-update)"""

import os
import random
import sys
import time
from collections import deque

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf

BATCHED = "--fixed" in sys.argv
keras.utils.set_random_seed(0)


class Stock:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.level, self.day = 10.0, 0
        return self.view()

    def view(self):
        return np.array(
            [self.level / 20, self.day / 90, np.sin(self.day / 7), np.cos(self.day / 7)], np.float32
        )

    def step(self, order):
        demand = self.rng.poisson(3 + 2 * np.sin(self.day / 7))
        sold = min(demand, self.level)
        self.level = min(self.level - sold + 2 * order, 20)
        self.day += 1
        return self.view(), sold - 0.1 * self.level - 0.3 * order, self.day >= 90


model = keras.Sequential(
    [
        keras.Input((4,)),
        keras.layers.Dense(32, "relu"),
        keras.layers.Dense(32, "relu"),
        keras.layers.Dense(4),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
forward = tf.function(
    lambda x: model(x, training=False), input_signature=[tf.TensorSpec((None, 4))]
)
memory = deque(maxlen=2000)


def replay(size=16):
    batch = random.sample(memory, size)
    s = np.array([b[0] for b in batch])
    s2 = np.array([b[3] for b in batch])
    q, q2 = forward(s).numpy(), forward(s2).numpy()
    for i, (_, a, r, _, d) in enumerate(batch):
        q[i, a] = r + (0 if d else 0.97 * q2[i].max())
    if BATCHED:
        model.train_on_batch(s, q)
    else:
        for i in range(size):
            model.train_on_batch(s[i : i + 1], q[i : i + 1])


env = Stock(0)
obs, n = env.reset(), 0
began = time.perf_counter()
while time.perf_counter() - began < 9:
    a = random.randrange(4) if random.random() < 0.1 else int(forward(obs[None]).numpy().argmax())
    nxt, r, d = env.step(a)
    memory.append((obs, a, r, nxt, d))
    obs = env.reset() if d else nxt
    n += 1
    if n >= 64 and n % 4 == 0:
        replay()
print(f"{n / (time.perf_counter() - began):.1f} steps/s")
