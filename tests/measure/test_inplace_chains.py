"""Hooked functions of one region that call each other: those in the middle are not hooked for long."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from hotloop.measure.core import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="without the native core")

#: More than it takes to learn which functions call each other (`LEARNED` in `native/core.h`).
MANY = 300


class Chain:
    """Wrappers of an environment: each step calls the next one's."""

    def __init__(self, core: Any) -> None:
        self.core = core
        self.noted: list[str] = []
        self.seen: list[str] = []

        def simulator(name: str = "simulator", deep: bool = True) -> None:
            self.seen.append(name)

        def inner(name: str = "inner", deep: bool = True) -> None:
            if deep:
                simulator()

        def outer(name: str = "outer", deep: bool = True) -> None:
            inner(deep=deep)

        def vector(name: str = "vector", deep: bool = True) -> None:
            outer(deep=deep)

        self.simulator, self.inner, self.outer, self.vector = simulator, inner, outer, vector
        self.detach = [self.attach(each) for each in (simulator, inner, outer, vector)]

    def attach(self, function: Callable[..., None]) -> Callable[[], None]:
        def note(*_: object, **__: object) -> None:
            self.noted.append(function.__name__)

        def make(original: Callable[..., None]) -> Any:
            return self.core.region("env.step").wrap(original, after=note, outermost=True)

        detach: Callable[[], None] = self.core.attach(function, make)
        return detach

    def learn(self) -> None:
        for _ in range(MANY):
            self.vector()
        assert self.noted == ["vector"] * MANY
        self.noted.clear()


@pytest.fixture(params=["measured", "at rest"])
def chain(core: Any, request: pytest.FixtureRequest) -> Any:
    chain = Chain(core)
    if request.param == "at rest":

        def head() -> None:
            """Where stretches begin."""

        core.attach(head, lambda original: core.region("collect").wrap(original))
        head()
        core.stretches("collect", 0, 1, 10**6, ["collect", "env.step"], frozenset())
        head()
        assert core.resting
    yield chain
    core.disable()  # ends the rest
    for detach in chain.detach:
        detach()


def test_only_the_outermost_call_is_noted(chain: Chain) -> None:
    chain.learn()
    assert len(chain.seen) == MANY


def test_those_in_the_middle_are_not_hooked(chain: Chain) -> None:
    chain.learn()
    chain.outer(deep=False)
    chain.inner(deep=False)
    assert chain.noted == []


@pytest.mark.parametrize("name", ["outer", "inner", "simulator"])
def test_another_way_in_is_noticed_at_once(chain: Chain, name: str) -> None:
    chain.learn()
    for _ in range(3 * MANY):
        getattr(chain, name)()
    # The innermost was hooked, and noticed the first call.
    assert chain.noted == ["simulator", *[name] * (3 * MANY - 1)]
    chain.noted.clear()
    chain.vector()
    assert chain.noted == ["vector"]


def test_two_ways_in_that_take_turns(chain: Chain) -> None:
    expected = itertools.cycle(["vector", "outer"])
    for _ in range(3 * MANY):
        getattr(chain, name := next(expected))()
        assert chain.noted.pop() == name
        assert chain.noted == []


def test_a_hook_that_does_more_stays(core: Any) -> None:
    chain = Chain(core)
    delays: list[int] = []

    def slower(original: Callable[..., None]) -> Any:
        def call(*args: Any, **kwargs: Any) -> None:
            delays.append(1)
            original(*args, **kwargs)

        return core.region("env.step").wrap(call, outermost=True)

    chain.detach.append(core.attach(chain.outer, slower))
    chain.learn()
    assert len(delays) == MANY
    for detach in chain.detach:
        detach()


def test_an_error_passes(chain: Chain) -> None:
    def fails() -> None:
        chain.inner(deep=None)  # type: ignore[arg-type]
        raise ValueError("broken")

    chain.detach.append(chain.attach(fails))

    def around() -> None:
        fails()

    chain.detach.append(chain.attach(around))
    for _ in range(MANY):
        with pytest.raises(ValueError, match="broken"):
            around()
    chain.noted.clear()
    chain.learn()
