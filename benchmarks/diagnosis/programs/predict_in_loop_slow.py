"""A Keras DQN that asks `predict` for every action."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import gymnasium as gym
import keras
import numpy as np
from keras import layers


def by_predict(model, state):
    return model.predict(state, verbose=0)


def main(ask=by_predict, steps: int = 350) -> None:
    keras.utils.set_random_seed(0)
    env = gym.make("CartPole-v1")
    model = keras.Sequential(
        [keras.Input((4,)), layers.Dense(32, activation="relu"), layers.Dense(2)]
    )
    model.compile("adam", "mse")
    rng = np.random.default_rng(0)
    memory = []
    state, _ = env.reset(seed=0)
    for step in range(steps):
        values = ask(model, state[None])
        action = int(np.argmax(values[0])) if rng.random() > 0.1 else int(rng.integers(2))
        following, reward, terminated, truncated, _ = env.step(action)
        memory.append((state, action, reward, following, terminated))
        state = following
        if terminated or truncated:
            state, _ = env.reset()
        if len(memory) >= 32 and step % 4 == 0:
            rows = [memory[i] for i in rng.integers(0, len(memory), 32)]
            states = np.stack([row[0] for row in rows])
            targets = np.array(ask(model, states))
            best = np.array(ask(model, np.stack([row[3] for row in rows]))).max(1)
            for i, (_, a, r, _, done) in enumerate(rows):
                targets[i, a] = r + 0.99 * best[i] * (not done)
            model.train_on_batch(states, targets)


if __name__ == "__main__":
    main()
