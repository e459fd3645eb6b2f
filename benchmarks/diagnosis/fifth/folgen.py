# plants: nothing
"""Healthy: Keras world model on stacked sequences, one fit over a prepared dataset per round."""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf


def swings(n, length, seed):
    """n pendulums as arrays, random torque."""
    rng = np.random.default_rng(seed)
    angle, speed, rows = rng.uniform(-3, 3, n), np.zeros(n), []
    for _ in range(length):
        torque = rng.uniform(-2, 2, n)
        rows.append(np.stack([np.cos(angle), np.sin(angle), speed / 8, torque], 1))
        speed = np.clip(speed + 0.05 * (15 * np.sin(angle) + 3 * torque), -8, 8)
        angle = angle + 0.05 * speed
    return np.stack(rows, 1).astype(np.float32)


model = keras.Sequential(
    [
        keras.Input((32, 4)),
        keras.layers.GRU(128, return_sequences=True),
        keras.layers.Dense(128, "relu"),
        keras.layers.Dense(3),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")


def main():
    rounds, samples, start = 0, 0, None
    while start is None or time.perf_counter() - start < 7:
        data = swings(2048, 33, rounds)
        pairs = (
            tf.data.Dataset.from_tensor_slices((data[:, :-1], data[:, 1:, :3]))
            .batch(128)
            .cache()
            .prefetch(2)
        )
        model.fit(pairs, epochs=2, verbose=0)
        rounds += 1
        if start is None:
            start = time.perf_counter()
        else:
            samples += 2 * 2048
    print(f"{samples / (time.perf_counter() - start):.1f} sequences/s")


main()
