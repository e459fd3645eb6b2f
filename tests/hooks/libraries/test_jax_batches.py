"""Which argument of a JAX function is a batch."""

from __future__ import annotations

import numpy as np
import pytest

from hotloop.hooks.libraries.jax_batches import batch_argument, leaves_of, network_batch

PARAMETERS = {"w": np.zeros((4, 8)), "b": np.zeros(8)}
KEY = np.zeros(2, np.uint32)
ROWS = np.zeros((32, 4))


@pytest.mark.parametrize(
    ("args", "index"),
    [
        ((PARAMETERS, ROWS), 1),
        ((PARAMETERS, (ROWS, np.zeros(32), np.zeros(32)), np.zeros(32)), 1),  # the most arrays
        ((ROWS, ROWS), 1),  # of equals the last: parameters come first
        ((np.zeros(32), np.zeros((32, 1))), 1),  # rewards are single numbers
        ((PARAMETERS, KEY), -1),
        ((), -1),
    ],
)
def test_the_argument_whose_arrays_share_a_first_dimension(
    args: tuple[object, ...], index: int
) -> None:
    assert batch_argument(args) == index


def test_a_network_is_called_with_that_many_rows() -> None:
    assert network_batch((PARAMETERS, ROWS)) == 32
    assert network_batch(()) == 0


def test_leaves_are_the_arrays_inside() -> None:
    found = leaves_of(({"rows": ROWS}, [KEY, 3.0]))
    assert [id(leaf) for leaf in found] == [id(ROWS), id(KEY)]
