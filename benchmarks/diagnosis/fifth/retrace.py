# plants: retracing @ loss = improve(states[rows]
"""Actor-critic in TensorFlow for a warehouse robot; the entropy weight is annealed as a
Python float.
"""

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf

FIXED = "--fixed" in sys.argv


class Warehouse:
    """Bring a box from one shelf to another on a 9 x 9 floor."""

    moves = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self.robot, self.box, self.goal = self.rng.integers(0, 9, (3, 2))
        self.loaded, self.left = False, 60
        return self.observe()

    def observe(self):
        target = self.goal if self.loaded else self.box
        delta = (target - self.robot) / 9
        return np.array(
            [*self.robot / 9, *delta, float(self.loaded), self.left / 60], dtype=np.float32
        )

    def step(self, action):
        self.robot = np.clip(self.robot + self.moves[action], 0, 8)
        self.left -= 1
        reward = -0.02
        if not self.loaded and (self.robot == self.box).all():
            self.loaded, reward = True, 0.5
        done = self.loaded and bool((self.robot == self.goal).all())
        return self.observe(), reward + done, done or self.left == 0


actor = keras.Sequential([keras.Input((6,)), keras.layers.Dense(64, "tanh"), keras.layers.Dense(4)])
critic = keras.Sequential(
    [keras.Input((6,)), keras.layers.Dense(64, "tanh"), keras.layers.Dense(1)]
)
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(actor.trainable_variables + critic.trainable_variables)


@tf.function
def choose(state):
    return tf.random.categorical(actor(state), 1)[:, 0]


@tf.function
def improve(states, actions, returns, entropy_weight):
    with tf.GradientTape() as tape:
        logits, values = actor(states), critic(states)[:, 0]
        logp = tf.nn.log_softmax(logits)
        chosen = tf.gather(logp, actions, axis=1, batch_dims=1)
        advantage = tf.stop_gradient(returns - values)
        entropy = -tf.reduce_sum(tf.exp(logp) * logp, 1)
        loss = tf.reduce_mean(
            -chosen * advantage - entropy_weight * entropy + tf.square(returns - values)
        )
    weights = actor.trainable_variables + critic.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
    return loss


def main():
    floors = [Warehouse(i) for i in range(16)]
    now = np.stack([f.reset() for f in floors])
    entropy, steps = 0.02, 0
    start = time.perf_counter()
    while time.perf_counter() - start < 8:
        seen, done_actions, rewards, ends = [], [], [], []
        for _ in range(64):
            actions = choose(tf.constant(now)).numpy()
            results = [f.step(a) for f, a in zip(floors, actions, strict=True)]
            seen.append(now)
            done_actions.append(actions)
            rewards.append([r for _, r, _ in results])
            ends.append([d for _, _, d in results])
            now = np.stack(
                [f.reset() if d else o for f, (o, _, d) in zip(floors, results, strict=True)]
            )
            steps += 16
        returns = np.zeros((64, 16), np.float32)
        running = np.zeros(16)
        for t in reversed(range(64)):
            running = np.asarray(rewards[t]) + 0.97 * running * (1 - np.asarray(ends[t]))
            returns[t] = running
        states = np.concatenate(seen)
        actions, returns = np.concatenate(done_actions), returns.reshape(-1)
        for rows in np.array_split(np.random.permutation(1024), 4):
            entropy *= 0.999
            weight = tf.constant(entropy, tf.float32) if FIXED else entropy
            loss = improve(states[rows], actions[rows], returns[rows], weight)
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s, loss {float(loss):.3f}")


main()
