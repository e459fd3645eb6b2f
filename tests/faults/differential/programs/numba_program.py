"""numba compiles the program's own functions."""

# needs: numba
import numba


@numba.njit
def learn(values):
    total = 0.0
    for value in values:
        total += value
    return total


def act(state):
    return state + 1


print(learn((1.0, 2.0)), numba.njit(act)(3))
