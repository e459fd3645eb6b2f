"""How the native core takes the calls of networks over, and what it must never do to a program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from hotloop import Profiler
from hotloop.hooks.order import ACT, FORWARD, OPTIMIZER, STEP

_native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")


class Network:
    """What is called, in the manner of torch's modules; `forward` may be anything."""

    _compiled_call_impl: Any = None
    forward: Any = staticmethod(lambda *_, **__: "action")

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)


class Rows:
    def __init__(self, *shape: int) -> None:
        self.shape = shape


class Loop:
    """Networks with stand-ins for torch around it, in a loop that has acted before."""

    def __init__(self, clock: Any, is_short: bool) -> None:
        self.profiler = Profiler(clock=clock)
        self.profiler.enable()
        self.core = core = self.profiler.core
        self.network = Network()
        self.to_hook = 0
        self.gradients = False
        self.marked: list[str] = []
        self.mark: Any = self.marked.append
        self.order = _native.Order(
            core,
            core.region("learn"),
            core.region("learn.loss"),
            (core.region("collect"), core.region("learn")),
            lambda kind, where: [core.region("policy.act")] * 8,
            lambda name: self.mark(name),
            lambda purpose: None,
        )
        self.order.thread = threading.get_ident()
        self.order.stepped(2)
        self.order.happened(STEP)
        self.actors = {id(self.network)}
        self.learners: set[tuple[int, bool, int, int]] = set()
        self.learning = _native.Learning(self.order, lambda loss: None, lambda buffer: None)
        self.plain: dict[type, Any] = {Network: None}
        self.networks = _native.Networks(
            self.order,
            *map(core.region, ("policy.act", "learn.forward", "collect")),
            (core.region("advantage"),),
            self.plain,
            self.actors,
            self.learners,
            self.learning,
            lambda: self.gradients,
            self.hook,
        )
        self.networks.take(Network.__call__, is_short)

    def hook(self, network: Any, args: Any, kwargs: Any) -> Any:
        self.to_hook += 1
        return network(*args, **kwargs)

    def calls(self, phase: str) -> int:
        phases = self.profiler.close_window().phases
        return phases[phase].calls if phase in phases else 0


@pytest.fixture(params=[True, False], ids=["short", "long"])
def loop(clock: Any, request: Any) -> Iterator[Loop]:
    loop = Loop(clock, request.param)
    yield loop
    loop.networks.give_back()


def test_a_network_that_acts_again_goes_around_the_hook(loop: Loop) -> None:
    assert [loop.network(Rows(2, 4)) for _ in range(64)] == ["action"] * 64
    assert loop.to_hook == 2  # one in 32
    assert loop.networks.skipped() == (62, 0)
    assert loop.networks.skipped() == (0, 0)
    assert loop.calls("policy.act") == 62
    assert loop.order.last == ACT


def test_what_is_inside_a_network_is_a_part_of_it(loop: Loop) -> None:
    inner = Network()
    loop.network.forward = lambda rows: inner(inner(rows))
    loop.network(Rows(2, 4))
    assert (loop.calls("policy.act"), loop.to_hook) == (1, 0)


@pytest.mark.parametrize(
    "what",
    [
        "gradients",
        "rows",
        "as many rows",
        "stranger",
        "class",
        "inside a phase",
        "no tensor",
        "nothing to count",
    ],
)
def test_everything_else_goes_to_the_hook(loop: Loop, what: str) -> None:
    rows: Any = [Rows(2, 4)]
    where = None
    if what == "gradients":
        loop.gradients = True
    elif what == "rows":
        rows = [Rows(32, 4)]
        loop.learners |= {(id(loop.network), False, 31, STEP), (id(loop.network), True, 32, STEP)}
    elif what == "stranger":
        loop.actors.clear()
    elif what == "class":
        loop.network = type("Other", (Network,), {})()
        loop.actors.add(id(loop.network))
    elif what == "no tensor":
        rows = []
    elif what == "inside a phase":
        where = "env.step"
    elif what == "nothing to count":
        where, rows = "learn", []
    elif what == "as many rows":
        loop.gradients = True
        loop.learners.add((id(loop.network), True, 2, STEP))
    if where is None:
        assert loop.network(*rows) == "action"
    else:
        with loop.profiler.profile(where):
            assert loop.network(*rows) == "action"
    assert loop.to_hook == 1


def test_a_librarys_rollout_acts(loop: Loop) -> None:
    with loop.profiler.profile("collect"):
        assert loop.network() == "action"
    assert (loop.calls("collect/policy.act"), loop.to_hook) == (1, 0)


def test_in_a_phase_that_is_whole_a_network_is_a_part_of_it(loop: Loop) -> None:
    with loop.profiler.profile("advantage"), loop.profiler.profile("anything"):
        loop.network(Rows(2, 4))
    assert (loop.calls("policy.act"), loop.to_hook) == (0, 0)


def test_a_librarys_update_learns_where_its_table_told_the_rows(loop: Loop) -> None:
    loop.order.told = 64
    with loop.profiler.profile("learn"):
        for _ in range(64):
            loop.network(Rows(64, 4))
        loop.order.happened(FORWARD)
    assert (loop.to_hook, loop.networks.skipped()) == (2, (0, 62))
    window = loop.profiler.close_window()
    assert window.phases["learn/learn.forward"].calls == 62
    assert "learn/learn.loss" in window.phases


@pytest.mark.parametrize("where", ["learn", None])
def test_rows_are_counted_where_no_table_told_them(loop: Loop, where: str | None) -> None:
    """In an update, and in a loop in which the same call was seen to learn before."""
    loop.gradients = True
    loop.order.happened(OPTIMIZER)
    loop.learners.add((id(loop.network), True, 64, loop.order.last))
    with loop.profiler.profile(where) if where else nullcontext():
        loop.network(Rows(64, 4))
        loop.learning.after_backward(None)
        loop.learning.optimizer(1)
    assert loop.to_hook == 0
    window = loop.profiler.close_window()
    assert window.phases[f"{where}/learn.forward" if where else "learn.forward"].calls == 1
    assert (window.counters["samples"], window.counters["gradient_steps"]) == (64, 1)
    # Twice as many rows as were collected come from a replay buffer; in `learn` a library knows.
    assert loop.order.off_policy == (where is None)


def test_one_learning_call_in_so_many_is_looked_at(loop: Loop) -> None:
    loop.gradients = True
    loop.learners |= {(id(loop.network), True, 64, event) for event in range(8)}
    for _ in range(64):
        loop.network(Rows(64, 4))
    assert (loop.to_hook, loop.networks.skipped()) == (2, (0, 62))


def test_while_nothing_is_measured_nothing_is_asked(loop: Loop) -> None:
    loop.profiler.disable()
    assert loop.network(Rows(2, 4)) == "action"
    assert loop.to_hook == 0


def test_a_network_that_torch_compiled_is_called_as_such(loop: Loop) -> None:
    loop.network._compiled_call_impl = lambda *args: ("compiled", len(args))
    assert loop.network(Rows(2, 4)) == ("compiled", 1)
    inner = Network()
    inner._compiled_call_impl = lambda *args: "inner compiled"
    loop.network._compiled_call_impl = None
    loop.network.forward = inner
    assert loop.network(Rows(2, 4)) == "inner compiled"


class Asking(Network):
    """Modules of torch define `__getattr__`; this one goes further."""

    def __getattribute__(self, name: str) -> Any:
        return (lambda *_: "asked") if name == "_call_impl" else super().__getattribute__(name)


def test_a_call_is_found_where_python_finds_it(loop: Loop) -> None:
    class Own(Network):
        def _call_impl(self, *_: Any, **__: Any) -> Any:
            return "its own"

    network, own = loop.network, Own()
    assert (network(), own(), Asking()()) == ("action", "its own", "asked")
    own._call_impl = lambda *_: "the object's"  # type: ignore[method-assign]
    assert own() == "the object's"
    del own._call_impl
    assert own() == "its own"
    # Found again after the class was changed, and after the function is gone.
    Own._call_impl = lambda self: "changed"  # type: ignore[method-assign]
    assert own() == "changed"
    del Own._call_impl
    assert own() == "action"
    Own._call_impl = staticmethod(lambda *_: "without itself")  # type: ignore[method-assign]
    assert own() == "without itself"
    Own._compiled_call_impl = staticmethod(lambda *_: "compiled")
    assert own() == "compiled"


def test_an_error_of_the_network_is_the_programs(loop: Loop) -> None:
    def fail(*_: Any) -> None:
        raise ArithmeticError("nan")

    loop.network.forward = fail
    for where in ("collect", "advantage"):
        with loop.profiler.profile(where), pytest.raises(ArithmeticError, match="nan"):
            loop.network(Rows(2, 4))
    with pytest.raises(ArithmeticError, match="nan"):
        loop.network(Rows(2, 4))
    assert loop.core.innermost() is None
    assert loop.core.failures == {}
    del loop.network.forward
    assert loop.network(Rows(2, 4)) == "action"
    assert loop.to_hook == 0


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
        loop.network(Interrupted())
    assert loop.network(Odd()) == "action"
    assert loop.to_hook == 1

    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    loop.mark = interrupt
    with pytest.raises(KeyboardInterrupt):
        loop.network(Rows(2, 4))
    loop.mark = loop.marked.append
    assert loop.network(Rows(2, 4)) == "action"
    assert loop.to_hook == 1


def test_an_order_that_fails_is_told_once(loop: Loop) -> None:
    def fail(name: str) -> None:
        raise ValueError("no mark")

    loop.mark = fail
    assert [loop.network(Rows(2, 4)) for _ in range(5)] == ["action"] * 5
    assert list(loop.core.failures) == ["policy.act"]
    assert loop.to_hook == 4


def test_arguments_pass_through(loop: Loop) -> None:
    loop.network.forward = lambda *args, **kwargs: (args[1:], kwargs)
    many = tuple(range(20))
    assert loop.network(Rows(2, 4), *many, mask=1) == (many, {"mask": 1})
    assert loop.to_hook == 0
    loop.actors.clear()
    assert loop.network(Rows(2, 4), *many, mask=1) == (many, {"mask": 1})
    assert loop.to_hook == 1


def test_threads_are_inside_networks_of_their_own(loop: Loop) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(*_: Any) -> str:
        begun.set()
        assert go_on.wait(10)
        return "waited"

    other = Network()
    other.forward = wait
    loop.actors.add(id(other))
    thread = threading.Thread(target=other, args=(Rows(2, 4),))
    thread.start()
    assert begun.wait(10)
    assert loop.to_hook == 1  # the order is another thread's
    loop.network(Rows(2, 4))
    go_on.set()
    thread.join()
    assert loop.calls("policy.act") == 1


def test_the_function_stays_what_it_is_and_is_given_back(clock: Any) -> None:
    function = Network.__call__
    loop = Loop(clock, True)
    assert Network.__call__ is function
    with pytest.raises(RuntimeError, match="already"):
        Loop(clock, True)
    loop.actors.clear()
    loop.network()
    loop.networks.give_back()
    loop.networks.give_back()
    loop.network()
    assert loop.to_hook == 1

    def give_back(*_: Any) -> str:
        loop.networks.give_back()
        return inner()

    inner = Network()
    loop.networks.take(function, True)
    loop.network.forward = give_back
    assert loop.network() == "action"


def test_regions_of_another_core_are_refused(loop: Loop, clock: Any) -> None:
    other = Profiler(clock=clock).core
    core = loop.core
    with pytest.raises(TypeError):
        _native.Order(core, other.region("learn"), core.region("x"), (), None, None, None)
    a = other.region("a")
    with pytest.raises(TypeError):
        _native.Networks(loop.order, a, a, a, (), {}, set(), set(), loop.learning, None, None)
