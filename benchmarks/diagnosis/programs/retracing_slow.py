"""A TensorFlow actor whose exploration rate is a Python number: every value is a new trace."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import gymnasium as gym
import numpy as np
import tensorflow as tf


def as_number(epsilon: float):
    return epsilon


def main(give=as_number, steps: int = 2500) -> None:
    tf.random.set_seed(0)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    env = gym.make("CartPole-v1")
    w1 = tf.Variable(tf.random.normal((4, 32)) * 0.3)
    w2 = tf.Variable(tf.random.normal((32, 2)) * 0.3)

    @tf.function
    def act(obs, epsilon):
        values = tf.matmul(tf.nn.relu(tf.matmul(obs, w1)), w2)
        explore = tf.random.uniform(()) < epsilon
        random = tf.random.uniform((1,), 0, 2, tf.int64)
        return tf.where(explore, random, tf.argmax(values, 1))

    @tf.function
    def learn(obs, actions, targets):
        with tf.GradientTape() as tape:
            values = tf.matmul(tf.nn.relu(tf.matmul(obs, w1)), w2)
            chosen = tf.reduce_sum(values * tf.one_hot(actions, 2), 1)
            loss = tf.reduce_mean(tf.square(chosen - targets))
        for variable, gradient in zip((w1, w2), tape.gradient(loss, (w1, w2))):
            variable.assign_sub(1e-3 * gradient)
        return loss

    memory = []
    rng = np.random.default_rng(0)
    obs, _ = env.reset(seed=0)
    for step in range(steps):
        epsilon = max(1.0 - (step // 10) / 240, 0.05)
        action = int(act(tf.constant(obs[None]), give(epsilon))[0])
        next_obs, reward, terminated, truncated, _ = env.step(action)
        memory.append((obs, action, reward))
        obs = next_obs
        if terminated or truncated:
            obs, _ = env.reset()
        if len(memory) >= 64:
            rows = [memory[i] for i in rng.integers(0, len(memory), 64)]
            learn(
                tf.constant(np.stack([row[0] for row in rows])),
                tf.constant([row[1] for row in rows]),
                tf.constant([row[2] for row in rows], tf.float32),
            )


if __name__ == "__main__":
    main()
