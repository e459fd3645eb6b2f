"""Recursive functions, hooked where they stand: as deep as without hooks."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from hotloop.measure.core import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="without the native core")


def calls_of(core: Any, name: str) -> int:
    _, rows, _, _ = core.snapshot()
    names = {node: label for node, _, label, _ in core.nodes()}
    return sum(row[1] for row in rows if names[row[0]] == name)


def deepest(function: Callable[[int], int]) -> int:
    """How deep this recursive function can go."""
    low, high = 1, 60_000
    while low < high:
        middle = (low + high + 1) // 2
        try:
            function(middle)
            low = middle
        except RecursionError:
            high = middle - 1
    return low


@pytest.mark.parametrize("outermost", [True, False])
@pytest.mark.parametrize("enabled", [True, False])
def test_as_deep_as_without(core: Any, outermost: bool, enabled: bool) -> None:
    def search(depth: int) -> int:
        return 0 if depth == 0 else 1 + search(depth - 1)

    plain = deepest(search)
    if not enabled:
        core.disable()
    detach = core.attach(
        search, lambda original: core.region("search").wrap(original, outermost=outermost)
    )
    assert deepest(search) == plain
    detach()


def test_with_a_raised_limit(core: Any) -> None:
    class Tree:
        def search(self, depth: int) -> int:
            return 0 if depth == 0 else 1 + self.search(depth - 1)

    limit = sys.getrecursionlimit()
    region = core.region("search")
    detach = core.attach(Tree.search, lambda original: region.wrap(original, outermost=True))
    try:
        # Before 3.11 every call is one in C: the stack is 8 MB.
        depth = 10_000 if sys.version_info < (3, 11) else 50_000
        sys.setrecursionlimit(depth + 1000)
        for _ in range(3):
            assert Tree().search(depth) == depth
        assert calls_of(core, "search") == 3
        assert Tree().search(2) == 2
        assert calls_of(core, "search") == 1
    finally:
        sys.setrecursionlimit(limit)
        detach()


def test_hooks_in_python_with_a_raised_limit(core: Any) -> None:
    noted: list[int] = []

    def search(depth: int) -> int:
        return 0 if depth == 0 else 1 + (search if depth % 2 else other)(depth - 1)

    def other(depth: int) -> int:
        return search(depth)

    def hook(original: Callable[[int], int]) -> Callable[[int], int]:
        def call(depth: int) -> int:
            noted.append(depth)
            return original(depth)

        return call

    limit = sys.getrecursionlimit()
    detach = [core.attach(each, hook) for each in (search, other)]
    try:
        depth = 5_000 if sys.version_info < (3, 11) else 30_000
        sys.setrecursionlimit(2 * depth + 1000)
        for _ in range(3):
            assert search(depth) == depth
        noted.clear()
        assert search(2) == 2
        assert noted == [2, 1, 1, 0]
    finally:
        sys.setrecursionlimit(limit)
        for each in detach:
            each()


def test_in_threads(core: Any) -> None:
    def search(depth: int) -> int:
        return 0 if depth == 0 else 1 + search(depth - 1)

    region = core.region("search")
    detach = core.attach(search, lambda original: region.wrap(original, outermost=True))
    results: list[int] = []

    def work() -> None:
        for _ in range(50):
            results.append(search(500))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [500] * 200
    detach()
    assert type(search) is types.FunctionType
