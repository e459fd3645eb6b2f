"""Telemetry of Keras programs."""

from __future__ import annotations

import pytest
from profiling import Profile
from telemetry_programs import line_of, notes_of

pytestmark = pytest.mark.framework

KERAS = """
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy as np, tensorflow as tf
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(2)])
model.compile("adam", "mse")
for i in range(6):
    model.predict(np.zeros((3, 4), np.float32), verbose=0)  # here
model.train_on_batch(np.zeros((5, 4), np.float32), np.zeros((5, 2), np.float32))

@tf.function
def again(x, number):  # traced
    return x * number

for i in range(7):
    again(tf.ones(3), float(i))
"""


def test_a_keras_program_tells_its_facts(profile: Profile) -> None:
    pytest.importorskip("keras")
    pytest.importorskip("tensorflow")
    run = profile(KERAS)
    counters, notes = run.report["run"]["counters"], notes_of(run)
    assert counters["predict_calls"] == 6
    assert counters["predict_rows"] == 18
    assert counters["predict_s"] > 0
    assert counters["retraces"] >= 6  # Keras may trace again for itself
    assert notes["keras_networks"][0]["parameters"] == 4 * 8 + 8 + 8 * 2 + 2
    assert notes["places"]["predict"][0][1] == line_of(KERAS, "# here")
    called = [place[1] for place in notes["places"]["retracing call"]]
    assert line_of(KERAS, "again(tf.ones(3)") in called
