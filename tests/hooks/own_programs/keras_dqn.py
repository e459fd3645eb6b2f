# ruff: noqa  (a program as people write them, kept as it is)
"""Keras DQN in one file, the classic way."""

import hashlib
import os
import random
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
from collections import deque

import gymnasium as gym
import keras
import numpy as np

keras.utils.set_random_seed(1)


class DQNAgent:
    def __init__(self, state_size, action_size):
        self.memory = deque(maxlen=2000)
        self.action_size = action_size
        self.epsilon = 1.0
        self.model = self._build(state_size, action_size)
        self.target = self._build(state_size, action_size)
        self.updates = 0

    def _build(self, s, a):
        model = keras.Sequential(
            [
                keras.Input((s,)),
                keras.layers.Dense(24, activation="relu"),
                keras.layers.Dense(24, activation="relu"),
                keras.layers.Dense(a),
            ]
        )
        model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.001))
        return model

    def remember(self, s, a, r, s2, d):
        self.memory.append((s, a, r, s2, d))

    def act(self, state):
        if np.random.rand() <= self.epsilon:
            return random.randrange(self.action_size)
        return int(np.argmax(self.model.predict(state[None], verbose=0)[0]))

    def replay(self, n):
        batch = random.sample(self.memory, n)
        s = np.array([b[0] for b in batch])
        s2 = np.array([b[3] for b in batch])
        q = self.model.predict_on_batch(s)
        q2 = np.asarray(self.target.predict_on_batch(s2))
        q = np.array(q)
        for i, (_, a, r, _, d) in enumerate(batch):
            q[i, a] = r if d else r + 0.95 * q2[i].max()
        if MODE == "fit":
            self.model.fit(s, q, epochs=1, verbose=0)
        else:
            self.model.train_on_batch(s, q)
        self.updates += 1
        if self.updates % 50 == 0:
            self.target.set_weights(self.model.get_weights())
        self.epsilon = max(0.1, self.epsilon * 0.98)


MODE = sys.argv[1] if len(sys.argv) > 1 else "batch"
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 400
env = gym.make("CartPole-v1")
agent = DQNAgent(4, 2)
state, _ = env.reset(seed=1)
episodes = 0
for step in range(STEPS):
    action = agent.act(state)
    nxt, reward, term, trunc, _ = env.step(action)
    agent.remember(state, action, reward, nxt, term)
    state = nxt
    if term or trunc:
        episodes += 1
        state, _ = env.reset()
    if len(agent.memory) > 32:
        agent.replay(32)
h = hashlib.sha256(b"".join(w.tobytes() for w in agent.model.get_weights())).hexdigest()[:16]
print(STEPS, episodes, agent.updates, h)
