# ruff: noqa  (a program as people write them, kept as it is)
"""Custom loops with GradientTape: eager or tf.function; actor-critic from the tutorial."""

import hashlib
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import gymnasium as gym
import keras
import numpy as np
import tensorflow as tf

MODE = sys.argv[1]
N = int(sys.argv[2])
keras.utils.set_random_seed(3)


class ActorCritic(keras.Model):
    def __init__(self, n):
        super().__init__()
        self.common = keras.layers.Dense(32, activation="relu")
        self.actor = keras.layers.Dense(n)
        self.critic = keras.layers.Dense(1)

    def call(self, x):
        h = self.common(x)
        return self.actor(h), self.critic(h)


def get_expected_return(rewards, gamma=0.99):
    n = tf.shape(rewards)[0]
    returns = tf.TensorArray(dtype=tf.float32, size=n)
    rewards = tf.cast(rewards[::-1], tf.float32)
    total = tf.constant(0.0)
    for i in tf.range(n):
        total = rewards[i] + gamma * total
        total.set_shape(())
        returns = returns.write(i, total)
    return returns.stack()[::-1]


def compute_loss(logits, values, actions, returns):
    adv = returns - values
    logp = -tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
    return -tf.reduce_mean(logp * tf.stop_gradient(adv)) + tf.reduce_mean(adv**2)


model = ActorCritic(2)
optimizer = keras.optimizers.Adam(0.01)


def train_step(states, actions, rewards):
    with tf.GradientTape() as tape:
        logits, values = model(states)
        returns = get_expected_return(rewards)
        loss = compute_loss(logits, tf.squeeze(values, 1), actions, returns)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def act(state):
    logits, _ = model(state)
    return tf.argmax(logits, axis=1)


if MODE == "graph":
    train_step = tf.function(train_step, reduce_retracing=True)
    act = tf.function(act)

env = gym.make("CartPole-v1")
steps = 0
rows = 0
for ep in range(N):
    s, _ = env.reset(seed=ep)
    S, A, R = [], [], []
    done = False
    while not done and len(S) < 60:
        a = (
            int(act(tf.constant(s[None]))[0])
            if np.random.rand() > 0.3
            else int(np.random.randint(2))
        )
        S.append(s)
        A.append(a)
        s, r, term, trunc, _ = env.step(a)
        R.append(r)
        done = term or trunc
        steps += 1
    train_step(tf.constant(np.array(S), tf.float32), tf.constant(A), tf.constant(R, tf.float32))
    rows += len(S)
h = hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest()[:16]
print(steps, N, rows, "w", h if False else len(h))
np.save(sys.argv[3], np.concatenate([w.ravel() for w in model.get_weights()]))
