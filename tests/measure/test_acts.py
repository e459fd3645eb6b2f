"""The way around the hook for networks that act again: what it must never do to a program."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hotloop import Profiler
from hotloop.hooks.order import ACT, STEP

_native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")


class Network:
    """What is called; `forward` may be anything."""

    forward: Any = staticmethod(lambda *_: "action")


class Rows:
    def __init__(self, *shape: int) -> None:
        self.shape = shape


class Loop:
    """Acts with stand-ins for torch around it."""

    def __init__(self, clock: Any) -> None:
        self.profiler = Profiler(clock=clock)
        self.profiler.enable()
        core = self.profiler.core
        self.network = Network()
        self.inside = [False]
        self.to_hook = 0
        self.gradients = False
        self.marked: list[str] = []
        self.mark: Any = self.marked.append
        self.order = _native.Order(
            core,
            core.region("learn"),
            core.region("learn.loss"),
            (core.region("collect"),),
            lambda kind, where: [core.region("policy.act")] * 8,
            lambda name: self.mark(name),
            lambda purpose: None,
        )
        self.order.thread = threading.get_ident()
        self.order.stepped(2)
        self.order.happened(STEP)
        self.actors = {id(self.network)}
        self.acts = _native.Acts(
            self.order,
            core.region("policy.act"),
            lambda network, *args, **kwargs: network.forward(*args, **kwargs),
            self.inside,
            {Network: None},
            self.actors,
            lambda: self.gradients,
            self.hook,
        )

    def hook(self, network: Any, args: Any, kwargs: Any) -> Any:
        self.to_hook += 1
        return network.forward(*args, **kwargs)

    def act(self, *args: Any, **kwargs: Any) -> Any:
        return self.acts(self.network, args, kwargs)


@pytest.fixture
def loop(clock: Any) -> Loop:
    return Loop(clock)


def test_a_network_that_acts_again_goes_around_the_hook(loop: Loop) -> None:
    assert [loop.act(Rows(2, 4)) for _ in range(64)] == ["action"] * 64
    assert loop.to_hook == 2  # one in 32
    assert loop.acts.skipped() == 62
    assert loop.acts.skipped() == 0
    window = loop.profiler.close_window()
    assert window.phases["policy.act"].calls == 62
    assert loop.order.last == ACT


@pytest.mark.parametrize(
    "what", ["gradients", "rows", "stranger", "class", "inside a phase", "off"]
)
def test_everything_else_goes_to_the_hook(loop: Loop, what: str) -> None:
    rows = Rows(2, 4)
    if what == "gradients":
        loop.gradients = True
    elif what == "rows":
        rows = Rows(32, 4)
    elif what == "stranger":
        loop.actors.clear()
    elif what == "class":
        loop.network = type("Other", (Network,), {})()
        loop.actors.add(id(loop.network))
    elif what == "off":
        loop.profiler.disable()
    if what == "inside a phase":
        with loop.profiler.profile("collect"):
            assert loop.act(rows) == "action"
    else:
        assert loop.act(rows) == "action"
    assert loop.to_hook == 1


def test_an_error_of_the_network_is_the_programs(loop: Loop) -> None:
    def fail(*_: Any) -> None:
        raise ArithmeticError("nan")

    loop.network.forward = fail
    for _ in range(3):
        with pytest.raises(ArithmeticError, match="nan"):
            loop.act(Rows(2, 4))
        assert loop.inside == [False]
    assert loop.profiler.core.innermost() is None
    assert loop.profiler.core.failures == {}


class Interrupted:
    @property
    def shape(self) -> Any:
        raise KeyboardInterrupt


class Odd:
    @property
    def shape(self) -> Any:
        raise RuntimeError("this tensor has none")


def test_what_arrives_on_the_way_reaches_the_program(loop: Loop) -> None:
    with pytest.raises(KeyboardInterrupt):
        loop.act(Interrupted())
    assert loop.act(Odd()) == "action"
    assert loop.to_hook == 1

    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    loop.mark = interrupt
    with pytest.raises(KeyboardInterrupt):
        loop.act(Rows(2, 4))
    assert loop.inside == [False]


def test_an_order_that_fails_is_told_once(loop: Loop) -> None:
    def fail(name: str) -> None:
        raise ValueError("no mark")

    loop.mark = fail
    assert [loop.act(Rows(2, 4)) for _ in range(5)] == ["action"] * 5
    assert list(loop.profiler.core.failures) == ["policy.act"]
    assert loop.to_hook == 4


def test_arguments_pass_through(loop: Loop) -> None:
    loop.network.forward = lambda *args, **kwargs: (args[1:], kwargs)
    many = tuple(range(20))
    assert loop.act(Rows(2, 4), *many, mask=1) == (many, {"mask": 1})
    assert loop.to_hook == 0


def test_regions_of_another_core_are_refused(loop: Loop, clock: Any) -> None:
    other = Profiler(clock=clock).core
    core = loop.profiler.core
    with pytest.raises(TypeError):
        _native.Order(core, other.region("learn"), core.region("x"), (), None, None, None)
    with pytest.raises(TypeError):
        _native.Acts(loop.order, other.region("a"), None, [], {}, set(), None, None)
