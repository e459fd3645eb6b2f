# plants: predict-in-loop @ q = self.model.predict(state, verbose=0)
import argparse
import os
import random
import time
from collections import deque

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import gymnasium as gym
import numpy as np
import tensorflow as tf
from keras import Sequential, layers, losses, models, optimizers

GAMMA = 0.99
BATCH = 64
MEMORY = 20000
WARMUP = 200
TRAIN_EVERY = 8
TARGET_EVERY = 400


class DQNAgent:
    def __init__(self, n_obs, n_actions, fast_act):
        self.n_actions = n_actions
        self.fast_act = fast_act
        self.epsilon = 1.0
        self.memory = deque(maxlen=MEMORY)
        self.model = self.build(n_obs)
        self.target = models.clone_model(self.model)
        self.sync()
        self.optimizer = optimizers.Adam(1e-3)
        self.huber = losses.Huber()

    def build(self, n_obs):
        return Sequential(
            [
                layers.Input((n_obs,)),
                layers.Dense(64, activation="relu"),
                layers.Dense(64, activation="relu"),
                layers.Dense(self.n_actions),
            ]
        )

    def sync(self):
        self.target.set_weights(self.model.get_weights())

    def remember(self, *transition):
        self.memory.append(transition)

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(self.n_actions)
        state = state[np.newaxis]
        if self.fast_act:
            q = self.model(state, training=False).numpy()
        else:
            q = self.model.predict(state, verbose=0)
        return int(np.argmax(q[0]))

    @tf.function(reduce_retracing=True)
    def train_step(self, s, a, r, s2, d):
        target = r + GAMMA * (1.0 - d) * tf.reduce_max(self.target(s2, training=False), axis=1)
        with tf.GradientTape() as tape:
            q = tf.gather(self.model(s, training=True), a, axis=1, batch_dims=1)
            loss = self.huber(target, q)
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    def replay(self):
        s, a, r, s2, d = zip(*random.sample(self.memory, BATCH))
        self.train_step(
            tf.constant(np.array(s, np.float32)),
            tf.constant(np.array(a, np.int32)),
            tf.constant(np.array(r, np.float32)),
            tf.constant(np.array(s2, np.float32)),
            tf.constant(np.array(d, np.float32)),
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    random.seed(0)
    np.random.seed(0)
    tf.random.set_seed(0)

    env = gym.make("CartPole-v1")
    agent = DQNAgent(4, 2, fast_act=args.fixed)
    state, _ = env.reset(seed=0)
    score, scores = 0.0, []
    start = time.perf_counter()
    for step in range(1, args.steps + 1):
        agent.epsilon = max(0.05, 1.0 - step / (0.2 * args.steps))
        action = agent.act(state)
        nxt, reward, terminated, truncated, _ = env.step(action)
        agent.remember(state, action, reward, nxt, terminated)
        state = nxt
        score += reward
        if terminated or truncated:
            scores.append(score)
            score = 0.0
            state, _ = env.reset()
        if step > WARMUP and step % TRAIN_EVERY == 0:
            agent.replay()
        if step % TARGET_EVERY == 0:
            agent.sync()
            print(f"step {step} eps {agent.epsilon:.2f} mean score {np.mean(scores[-20:]):.1f}")
    print(f"loop_s {time.perf_counter() - start:.3f} steps {args.steps}")


if __name__ == "__main__":
    main()
