"""How the native core takes the calls of networks over, and what it must never do to a program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from hotloop import Profiler
from hotloop.hooks.inference.events import ACT, BACKWARD, FORWARD, OPTIMIZER, STEP
from hotloop.hooks.inference.networks import UNCOUNTED, rows_of_batch

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


class Named:
    def shape(self) -> str:
        """A method of this name."""
        return "round"


class Loop:
    """Networks with stand-ins for torch around it, in a loop that may have acted before."""

    def __init__(self, clock: Any, has_acted: bool = True) -> None:
        self.profiler = Profiler(clock=clock)
        self.profiler.enable()
        self.core = core = self.profiler.core
        self.network = Network()
        self.gradients = False
        self.heard: Any = None
        self.marked: list[tuple[int, int]] = []
        self.mark: Any = self.marked.append
        self.shown: list[int] = []
        self.asked = 0
        self.phases: dict[type, Any] = {}
        self.order = _native.EventOrder(
            core,
            threading.get_ident(),
            lambda event, circumstances: [core.region("policy.act")] * 9,
            lambda before, after, circumstances: self.mark((before, after)),
        )
        if has_acted:
            self.order.stepped(2)
        self.updates = _native.Updates(
            self.order, lambda loss: None, lambda buffer: None, lambda optimizer: None
        )
        self.networks = _native.Networks(
            self.order,
            self.updates,
            self.phases.get,
            self.batch_size,
            lambda: self.gradients,
            lambda event, result: self.shown.append(event),
            (lambda: self.heard,),
            Rows,
        )
        if has_acted:
            self.acts(self.network)
        self.networks.take(Network.__call__)

    def acts(self, network: Any) -> None:
        """The network has chosen actions."""
        self.order.purpose(id(network), False, 2)
        self.order.stepped(2)

    def learns(self, batch_size: int, before: int) -> None:
        """After that event the network has learned from batches of that size, and is known for it."""
        for _ in range(4):
            self.order.happened(before)
            self.order.purpose(id(self.network), True, batch_size)
            self.order.happened(BACKWARD)
        self.order.happened(before)

    def batch_size(self, values: tuple[Any, ...]) -> int:
        self.asked += 1
        return 1

    def calls(self, phase: str) -> int:
        phases = self.profiler.close_window().phases
        return phases[phase].calls if phase in phases else 0


@pytest.fixture
def loop(clock: Any) -> Iterator[Loop]:
    loop = Loop(clock)
    yield loop
    loop.networks.give_back()


def test_a_network_that_acts_again_is_shown_now_and_then(loop: Loop) -> None:
    assert [loop.network(Rows(2, 4)) for _ in range(64)] == ["action"] * 64
    assert loop.shown == [ACT, ACT]  # one in 32
    assert loop.networks.skipped() == (62, 0)
    assert loop.networks.skipped() == (0, 0)
    assert loop.calls("policy.act") == 64
    assert (loop.order.last, loop.asked) == (ACT, 0)


def test_an_error_of_what_chooses_for_an_object_is_kept_as_it_is(loop: Loop) -> None:
    def choose(network: Network) -> int:
        raise LookupError("not a model")

    loop.phases[Network] = choose
    assert [loop.network(Rows(2, 4)) for _ in range(2)] == ["action"] * 2
    assert list(loop.core.failures.values()) == ["LookupError('not a model')"]


def test_rows_of_calls_that_neither_act_nor_learn_are_counted(clock: Any) -> None:
    loop = Loop(clock, has_acted=False)
    try:
        for _ in range(5):
            loop.network(Rows(3, 4))
        window = loop.profiler.close_window()
    finally:
        loop.networks.give_back()
    assert window.phases["inference"].calls == 5
    assert window.counters["inference_rows"] == 15


def test_rows_of_a_batch_of_sequences_are_the_product_of_both_dimensions(clock: Any) -> None:
    loop = Loop(clock, has_acted=False)
    loop.network._call_impl = lambda rows: (Rows(*rows.shape[:2], 6), "its state")
    try:
        loop.network(Rows(1, 32, 4))
        window = loop.profiler.close_window()
    finally:
        loop.networks.give_back()
    assert window.counters["inference_rows"] == 32


def test_what_is_inside_a_network_is_a_part_of_it(loop: Loop) -> None:
    inner = Network()
    loop.network.forward = lambda rows: inner(inner(rows))
    loop.network(Rows(2, 4))
    assert loop.calls("policy.act") == 1


@pytest.mark.parametrize(
    ("batch", "gradients", "event"),
    [
        (2, True, ACT),  # one entry for each environment outside an update
        (32, False, FORWARD),
        (32, True, FORWARD),
    ],
)
def test_a_call_that_was_never_made_is_guessed_and_shown(
    loop: Loop, batch: int, gradients: bool, event: int
) -> None:
    loop.gradients = gradients
    for _ in range(3):
        assert loop.network(Rows(batch, 4)) == "action"
        loop.order.happened(STEP)
    assert loop.shown == [event] * 3


def test_a_class_may_have_a_phase_of_its_own(loop: Loop) -> None:
    other = type("Other", (Network,), {})
    loop.phases[other] = loop.core.region("advantage")
    for _ in range(2):
        assert other()(Rows(2, 4)) == "action"
    assert (loop.calls("advantage"), loop.shown, loop.order.last) == (2, [], STEP)


def test_arguments_that_are_not_plain_are_read_in_python(loop: Loop) -> None:
    loop.network({"observation": Rows(2, 4)})
    loop.network(observation=Rows(2, 4))
    assert loop.asked == 2


def test_in_an_environment_a_network_acts(loop: Loop) -> None:
    loop.gradients = True
    with loop.profiler.profile("env.step"), loop.profiler.profile("anything"):
        loop.network(Rows(2, 4))
    assert loop.calls("env.step/anything/policy.act") == 1
    assert (loop.shown, loop.order.last) == ([], STEP)


def test_a_librarys_rollout_acts(loop: Loop) -> None:
    with loop.profiler.profile("collect"):
        assert loop.network() == "action"
    assert (loop.calls("collect/policy.act"), loop.asked, loop.shown) == (1, 0, [])


def test_in_a_phase_that_is_whole_a_network_is_a_part_of_it(loop: Loop) -> None:
    with loop.profiler.profile("advantage"), loop.profiler.profile("anything"):
        loop.network(Rows(2, 4))
    assert (loop.calls("policy.act"), loop.shown) == (0, [])


def test_one_part_of_an_act_in_some_is_shown(loop: Loop) -> None:
    with loop.profiler.profile("policy.act"):
        for _ in range(62):
            loop.network(Rows(2, 4))
    assert loop.shown == [-1, -1]


def test_a_librarys_update_learns_where_its_table_knows_the_batch_size(loop: Loop) -> None:
    with loop.profiler.profile("learn"):
        loop.order.known_batch_size = 64
        for _ in range(62):
            loop.network(Rows(64, 4))
        loop.order.happened(FORWARD)
    assert (loop.shown, loop.networks.skipped()) == ([FORWARD] * 2, (0, 60))
    window = loop.profiler.close_window()
    assert window.phases["learn/learn.forward"].calls == 62
    assert "learn/learn.loss" in window.phases


@pytest.mark.parametrize("where", ["learn", None])
def test_batch_sizes_are_read_where_no_table_knows_them(loop: Loop, where: str | None) -> None:
    """In an update, and in a loop in which the same call has learned before."""
    loop.learns(64, OPTIMIZER)
    loop.order.stepped(2)
    loop.order.happened(OPTIMIZER)
    loop.profiler.close_window()
    loop.gradients = True
    with loop.profiler.profile(where) if where else nullcontext():
        loop.network(Rows(64, 4))
        loop.updates.after_backward(None)
        loop.updates.optimizer(1)
    window = loop.profiler.close_window()
    assert window.phases[f"{where}/learn.forward" if where else "learn.forward"].calls == 1
    assert (window.counters["samples"], window.counters["gradient_steps"]) == (64, 1)
    assert loop.shown == []


def test_larger_batches_than_were_collected_come_from_a_replay_buffer(loop: Loop) -> None:
    loop.gradients = True
    loop.network(Rows(64, 4))
    assert loop.order.off_policy


def test_one_learning_call_in_some_is_shown(loop: Loop) -> None:
    loop.learns(64, OPTIMIZER)
    loop.gradients = True
    for _ in range(62):
        loop.network(Rows(64, 4))
        loop.order.happened(BACKWARD)
        loop.order.happened(OPTIMIZER)
    assert (loop.shown, loop.networks.skipped()) == ([FORWARD] * 2, (0, 60))


def test_while_nothing_is_measured_nothing_is_asked(loop: Loop) -> None:
    loop.profiler.disable()
    assert loop.network(Rows(2, 4)) == "action"
    assert (loop.asked, loop.shown, loop.calls("policy.act")) == (0, [], 0)


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


class Interrupted:
    @property
    def shape(self) -> Any:
        raise KeyboardInterrupt


class Leaving:
    @property
    def shape(self) -> Any:
        raise SystemExit


class Odd:
    @property
    def shape(self) -> Any:
        raise RuntimeError("this tensor has none")


def test_what_arrives_on_the_way_reaches_the_program(loop: Loop) -> None:
    with pytest.raises(KeyboardInterrupt):
        loop.network(Interrupted())

    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    loop.mark = interrupt
    with pytest.raises(KeyboardInterrupt):
        loop.network(Rows(2, 4))
    loop.mark = loop.marked.append
    assert loop.network(Rows(2, 4)) == "action"
    assert dict(loop.core.failures) == {}


def test_an_exit_in_another_thread_is_raised_there(loop: Loop) -> None:
    ended: list[str] = []

    def run() -> None:
        try:
            loop.network(Leaving())
            for _ in range(100):
                pass
        except SystemExit:
            ended.append("there")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ended == ["there"]


def test_errors_on_the_way_are_kept_and_never_raised(loop: Loop) -> None:
    assert loop.network(Odd()) == "action"
    assert list(loop.core.failures) == ["policy.act"]

    def fail(*_: Any) -> Any:
        raise ValueError("no mark")

    loop.mark = fail
    assert [loop.network(Rows(2, 4)) for _ in range(5)] == ["action"] * 5
    assert "no mark" in loop.core.failures["learn"]


def test_arguments_pass_through(loop: Loop) -> None:
    loop.network.forward = lambda *args, **kwargs: (args[1:], kwargs)
    many = tuple(range(20))
    assert loop.network(Rows(2, 4), *many, mask=1) == (many, {"mask": 1})


def test_threads_are_inside_networks_of_their_own(loop: Loop) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(*_: Any) -> str:
        begun.set()
        assert go_on.wait(10)
        return "waited"

    other = Network()
    other.forward = wait
    thread = threading.Thread(target=other, args=(Rows(2, 4),))
    thread.start()
    assert begun.wait(10)
    loop.network(Rows(2, 4))
    go_on.set()
    thread.join()
    assert loop.calls("policy.act") == 1


def test_the_function_stays_what_it_is_and_is_given_back(clock: Any) -> None:
    function = Network.__call__
    loop = Loop(clock)
    assert Network.__call__ is function
    with pytest.raises(RuntimeError, match="already"):
        Loop(clock)
    loop.network(Rows(2, 4))
    loop.networks.give_back()
    loop.networks.give_back()
    loop.network(Rows(2, 4))
    assert loop.calls("policy.act") == 1

    def give_back(*_: Any) -> str:
        loop.networks.give_back()
        return inner()

    inner = Network()
    loop.networks.take(function)
    loop.network.forward = give_back
    assert loop.network() == "action"


def test_arguments_are_given_by_position(loop: Loop) -> None:
    with pytest.raises(TypeError, match="by position"):
        _native.Updates(loop.order, show_loss=None, show_buffer=None)
    with pytest.raises(TypeError):
        _native.Networks(loop.order, None, None, None, None, None, (), Rows)


def test_tensors_are_asked_nothing_while_the_program_listens(loop: Loop) -> None:
    class Watched(Rows):
        asked = 0

        @property
        def shape(self) -> tuple[int, ...]:
            Watched.asked += 1
            return (2, 4)

        @shape.setter
        def shape(self, value: tuple[int, ...]) -> None:
            pass

    loop.network(Watched())
    assert Watched.asked == 1
    loop.heard = "a mode, or a trace"
    for _ in range(64):
        assert loop.network(Watched()) == "action"
    assert (Watched.asked, loop.shown) == (1, [])
    loop.heard = None
    # A class that hears every question is left to Python, which asks unheard.
    Watched.__torch_function__ = classmethod(lambda *_: None)  # type: ignore[attr-defined]
    before = loop.asked
    loop.network(Watched())
    assert (Watched.asked, loop.asked) == (1, before + 1)


@pytest.mark.parametrize(
    ("batch", "rows"),
    [
        ((Rows(64, 4), Rows(64, 1), Rows(64)), 64),
        ({"obs": Rows(16, 50, 3), "rewards": Rows(16, 50)}, 800),  # sequences
        ((Rows(51, 16, 3), Rows(50, 16)), UNCOUNTED),  # one more observation than rewards
        ([("state", 1.0), ("state", 0.0)], UNCOUNTED),
        (Rows(64, 4), UNCOUNTED),
        ((Named(), Rows(64)), 64),
    ],
)
def test_rows_of_what_was_drawn_are_those_of_its_smallest_array(batch: Any, rows: int) -> None:
    assert rows_of_batch(batch) == rows
