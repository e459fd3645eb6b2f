"""hotloop.count takes whatever numbers a program has."""

# needs: numpy
import math

import numpy as np

import hotloop

for value in (
    True,
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    -5,
    0.5,
    np.float32(2),
    np.int64(3),
    np.bool_(True),
    np.array(4),
    np.nan,
):
    print(hotloop.count("env_steps", value))
print("counted")
