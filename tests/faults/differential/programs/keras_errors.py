"""A model's own functions stay Keras's, and an error in one has Keras's frames only."""

# needs: tensorflow
# full: importing TensorFlow takes seconds
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import inspect
import traceback

import keras
import numpy as np

keras.utils.set_random_seed(1)
inputs, targets = np.ones((8, 3), "f4"), np.zeros((8, 1), "f4")
for eagerly in (False, True):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=eagerly)
    print(model.fit(inputs, targets, verbose=0).history)
    function = model.train_function
    print(type(function), function.__name__, sorted(vars(function)), inspect.signature(function))
    print(
        function.__code__.co_filename.rpartition("keras")[2], inspect.unwrap(function) is function
    )
    try:
        model.fit(inputs[:, :2], targets, verbose=0)
    except Exception as error:
        print(type(error).__name__)
        print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
