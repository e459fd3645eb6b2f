"""Both region clocks: counters and what watches them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from region_trees import Tree


def test_counters_add_up_and_start_over(tree: Tree) -> None:
    tree.core.count("env_steps", 8)
    tree.core.count("env_steps", 8)
    tree.core.count("loss", 0.5)
    tree.figures()
    assert tree.counters == {"env_steps": 16, "loss": 0.5}
    tree.figures()
    assert tree.counters == {}


@pytest.mark.parametrize("arguments", [(), (1,), ("a", "b"), ("a", 1, 2)])
def test_a_wrong_count_is_an_error(tree: Tree, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        tree.core.count(*arguments)


@pytest.mark.parametrize(
    ("value", "counted"),
    [(True, 1), (10**300, 10**300), (10**400, None), (math.inf, None), (math.nan, None)],
)
def test_any_number_can_be_counted(tree: Tree, value: Any, counted: Any) -> None:
    tree.core.count("n", value)
    counters = tree.core.snapshot()[2]
    assert counters == ({} if counted is None else {"n": counted})
    assert tree.core.dropped == (counted is None)


def test_numbers_of_numpy_can_be_counted(tree: Tree) -> None:
    numpy = pytest.importorskip("numpy")
    for value in (numpy.int64(2), numpy.float32(0.5), numpy.bool_(True), numpy.array(3)):
        tree.core.count("n", value)
    tree.core.count("n", numpy.float32("nan"))
    assert tree.core.snapshot()[2] == {"n": 6.5}
    assert tree.core.dropped == 1


def test_a_watch_fires_once_when_its_counter_is_reached(tree: Tree) -> None:
    fired: list[int] = []
    tree.core.watch("steps", 10, lambda: fired.append(1))
    for _ in range(9):
        tree.core.count("steps")
    assert fired == []
    tree.core.count("other", 100)
    tree.core.count("steps", 4)
    tree.core.count("steps", 100)
    assert fired == [1]
