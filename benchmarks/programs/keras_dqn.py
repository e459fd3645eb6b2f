"""DQN with Keras on TensorFlow, one file, the classic way."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import random
from collections import deque

import gymnasium as gym
import keras
import measured
import numpy as np

ROWS = 32


class Agent:
    def __init__(self, state_size, action_size):
        self.memory = deque(maxlen=2000)
        self.action_size = action_size
        self.epsilon = 1.0
        self.model = self.build(state_size, action_size)
        self.target = self.build(state_size, action_size)
        self.updates = 0

    def build(self, inputs, outputs):
        layers = [
            keras.Input((inputs,)),
            keras.layers.Dense(24, activation="relu"),
            keras.layers.Dense(24, activation="relu"),
            keras.layers.Dense(outputs),
        ]
        model = keras.Sequential(layers)
        model.compile(loss="mse", optimizer=keras.optimizers.Adam(0.001))
        return model

    def act(self, state):
        if np.random.rand() <= self.epsilon:
            return random.randrange(self.action_size)
        return int(np.argmax(self.model.predict_on_batch(state[None])[0]))

    def replay(self):
        batch = random.sample(self.memory, ROWS)
        states = np.array([each[0] for each in batch])
        following = np.array([each[3] for each in batch])
        # timers| hand_timers.enter("learn.forward")
        values = np.array(self.model.predict_on_batch(states))
        next_values = np.asarray(self.target.predict_on_batch(following))
        # timers| hand_timers.leave()
        for row, (_, action, reward, _, done) in enumerate(batch):
            values[row, action] = reward if done else reward + 0.95 * next_values[row].max()
        self.model.train_on_batch(states, values)
        self.updates += 1
        if self.updates % 50 == 0:
            self.target.set_weights(self.model.get_weights())
        self.epsilon = max(0.1, self.epsilon * 0.98)


# timers| import hand_timers
keras.utils.set_random_seed(1)
env = gym.make("CartPole-v1")
agent = Agent(4, 2)
state, _ = env.reset(seed=1)
measured.turns(10, step=env)
measured.first_step(env)
with measured.loop():
    for _ in range(measured.steps(1800)):
        # timers| hand_timers.enter("policy.act")
        action = agent.act(state)
        # timers| hand_timers.leave()
        # timers| hand_timers.enter("env.step")
        following, reward, terminated, truncated, _ = env.step(action)
        # timers| hand_timers.leave()
        agent.memory.append((state, action, reward, following, terminated))
        state = following
        if terminated or truncated:
            state, _ = env.reset()
        if len(agent.memory) > ROWS:
            # timers| hand_timers.enter("learn")
            agent.replay()
            # timers| hand_timers.leave()
# timers| hand_timers.show()
