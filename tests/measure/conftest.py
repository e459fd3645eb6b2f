"""A core whose hooks are taken off; a profiler and both region clocks in time that tests set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from hooked_functions import Calls
from region_trees import Tree

from hotloop import Profiler
from hotloop.measure.core import Core


@pytest.fixture
def core() -> Any:
    core = Core()
    core.enable()
    return core


@pytest.fixture
def hook(core: Any) -> Iterator[Callable[[Any, Calls], Callable[[], None]]]:
    """Lets calls of a function be listed; whatever is left is detached in the end."""
    undo: list[Callable[[], None]] = []

    def attach(function: Any, calls: Calls) -> Callable[[], None]:
        region = core.region("hooked")
        detach = core.attach(
            function,
            lambda original: region.wrap(original, after=lambda _, *args, **__: calls.append(args)),
        )
        assert detach is not None
        undo.append(detach)
        return detach  # type: ignore[no-any-return]

    yield attach
    while undo:
        undo.pop()()


@pytest.fixture
def profiler(clock: Any) -> Profiler:
    profiler = Profiler(clock=clock)
    profiler.enable()
    return profiler


@pytest.fixture
def tree(region_clock: ModuleType, clock: Any) -> Tree:
    return Tree(region_clock, clock)
