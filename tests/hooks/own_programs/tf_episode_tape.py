# ruff: noqa  (a program as people write them, kept as it is)
"""Policy gradient with one tape around a whole episode, and the gradient taken inside of it."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf

N = int(sys.argv[1])
keras.utils.set_random_seed(3)
inputs = keras.Input((4,))
model = keras.Model(inputs, keras.layers.Dense(2, activation="softmax")(inputs))
optimizer = keras.optimizers.Adam(0.01)
env = gym.make("CartPole-v1")
steps = 0
for episode in range(N):
    state, _ = env.reset(seed=episode)
    log_probs, rewards = [], []
    done = False
    with tf.GradientTape() as tape:
        while not done:
            probs = model(tf.constant(state[None]))
            action = np.random.choice(2, p=np.squeeze(probs))
            log_probs.append(tf.math.log(probs[0, action]))
            state, reward, terminated, truncated, _ = env.step(action)
            rewards.append(reward)
            done = terminated or truncated
            steps += 1
        returns = np.cumsum(rewards[::-1])[::-1]
        loss = sum(-log_prob * value for log_prob, value in zip(log_probs, returns))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
print(steps, N)
