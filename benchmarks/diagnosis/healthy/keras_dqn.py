"""A Keras DQN that calls its model and trains in batches."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import gymnasium as gym
import numpy as np
import tensorflow as tf

BATCH = 64


def build() -> tf.keras.Model:
    return tf.keras.Sequential(
        [tf.keras.Input((4,)), tf.keras.layers.Dense(32, "relu"), tf.keras.layers.Dense(2)]
    )


class Agent:
    def __init__(self) -> None:
        self.online, self.target = build(), build()
        self.target.set_weights(self.online.get_weights())
        self.optimizer = tf.keras.optimizers.Adam(1e-3)

    @tf.function(reduce_retracing=True)
    def values(self, obs):
        return self.online(obs)

    @tf.function
    def update(self, obs, actions, rewards, following, dones):
        best = tf.reduce_max(self.target(following), axis=1)
        wanted = rewards + 0.99 * (1 - dones) * best
        with tf.GradientTape() as tape:
            chosen = tf.reduce_sum(self.online(obs) * tf.one_hot(actions, 2), axis=1)
            loss = tf.reduce_mean(tf.square(chosen - wanted))
        variables = self.online.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss


class Replay:
    def __init__(self, capacity: int = 5000) -> None:
        self.obs = np.zeros((capacity, 4), np.float32)
        self.following = np.zeros((capacity, 4), np.float32)
        self.actions = np.zeros(capacity, np.int32)
        self.rest = np.zeros((capacity, 2), np.float32)
        self.capacity, self.size = capacity, 0
        self.rng = np.random.default_rng(0)

    def __len__(self) -> int:
        return min(self.size, self.capacity)

    def add(self, obs, action, reward, following, done) -> None:
        i = self.size % self.capacity
        self.obs[i], self.following[i] = obs, following
        self.actions[i], self.rest[i] = action, (reward, done)
        self.size += 1

    def sample(self, count: int):
        i = self.rng.integers(0, len(self), count)
        return self.obs[i], self.actions[i], self.rest[i, 0], self.following[i], self.rest[i, 1]


if __name__ == "__main__":
    tf.random.set_seed(0)
    env, agent, replay = gym.make("CartPole-v1"), Agent(), Replay()
    rng = np.random.default_rng(0)
    obs, _ = env.reset(seed=0)
    for step in range(2500):
        if rng.random() < 0.1:
            action = int(rng.integers(2))
        else:
            action = int(np.argmax(agent.values(tf.constant(obs[None]))[0]))
        following, reward, terminated, truncated, _ = env.step(action)
        replay.add(obs, action, reward, following, terminated)
        obs = following
        if terminated or truncated:
            obs, _ = env.reset()
        if step >= BATCH:
            agent.update(*(tf.constant(part) for part in replay.sample(BATCH)))
