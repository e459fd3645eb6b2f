"""Objects with a vectorcall of their own, hooked where they stand: a jitted function of JAX."""

from __future__ import annotations

import copy
import gc
import inspect
import types
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hooked_functions import Calls, Thing

from hotloop.measure.core import NATIVE

pytestmark = [
    pytest.mark.skipif(not NATIVE, reason="without the native core"),
    pytest.mark.framework,
]


def scale(x: int, *, by: int = 2) -> int:
    """Scales."""
    return x * by


@pytest.fixture
def jitted() -> Iterator[Any]:
    jax = pytest.importorskip("jax")
    with jax.disable_jit():  # calls run the function: no backend with threads is started here
        yield jax.jit(scale)


def test_every_call_is_hooked(hook: Any, jitted: Any) -> None:
    calls: Calls = []
    detach = hook(jitted, calls)
    assert (jitted(1), jitted(2, by=3), jitted(*(3,), **{"by": 4})) == (2, 6, 12)
    assert (jitted.__call__(4), list(map(jitted, (5,)))) == (8, [10])
    assert calls == [(1,), (2,), (3,), (4,), (5,)]
    detach()
    assert jitted(6) == 12
    assert len(calls) == 5


def test_other_objects_of_its_type_are_not(hook: Any, jitted: Any) -> None:
    import jax

    calls: Calls = []
    hook(jitted, calls)
    assert jax.jit(scale)(1) == 2
    assert calls == []


def test_what_a_program_can_ask(hook: Any, jitted: Any) -> None:
    facts = [
        lambda: (id(jitted), type(jitted), jitted.__class__, repr(jitted), hash(jitted)),
        lambda: (dict(vars(jitted)), dir(jitted)),
        lambda: str(inspect.signature(jitted)),
        lambda: (inspect.isfunction(jitted), inspect.isroutine(jitted), callable(jitted)),
        lambda: (jitted.__wrapped__, jitted.__doc__, jitted.__module__, jitted.__name__),
        lambda: type(copy.copy(jitted)),
        lambda: types.MethodType(jitted, 3)(by=5),
        lambda: weakref.ref(jitted)() is jitted,
    ]
    plain = [fact() for fact in facts]
    detach = hook(jitted, [])
    assert [fact() for fact in facts] == plain
    detach()
    assert [fact() for fact in facts] == plain


def test_copies_have_no_hook(hook: Any, jitted: Any) -> None:
    calls: Calls = []
    hook(jitted, calls)
    assert copy.copy(jitted)(1) == 2
    assert calls == []


def test_errors_are_those_of_the_function(hook: Any, jitted: Any) -> None:
    def message(**names: Any) -> str:
        with pytest.raises(TypeError) as caught:
            jitted(**names)
        return repr(caught.value)

    plain = [message(), message(x=None), message(x=1, other=2)]
    hook(jitted, [])
    assert [message(), message(x=None), message(x=1, other=2)] == plain


def test_several_nest_and_leave_in_any_order(hook: Any, jitted: Any, core: Any) -> None:
    first: Calls = []
    second: Calls = []
    detach = hook(jitted, first)
    hook(jitted, second)
    assert core.original(jitted)(1) == 2
    assert jitted(1) == 2
    detach()
    assert jitted(1) == 2
    assert (len(first), len(second)) == (1, 2)


def test_detached_while_it_runs(core: Any, jitted: Any) -> None:
    def make(original: Any) -> Any:
        def call(*args: Any) -> Any:
            detach()
            gc.collect()
            return original(*args)

        return call

    detach = core.attach(jitted, make)
    assert (jitted(1), jitted(2)) == (2, 4)
    assert core.original(jitted) is jitted


def test_it_is_freed_while_it_is_hooked(core: Any, jitted: Any) -> None:
    import jax

    kept: list[Any] = []

    def make(original: Any) -> Any:
        kept.append(original)
        return lambda *args: original(*args)

    function = jax.jit(scale)
    gone = weakref.ref(function)
    detach = core.attach(function, make)
    assert function(1) == 2
    del function
    assert gone() is None, "at once, without the collector"
    with pytest.raises(ReferenceError):
        kept[0](1)
    with pytest.raises(ReferenceError):
        _ = kept[0].__name__
    detach()


def test_it_is_freed_in_a_circle_and_may_be_called_by_a_finalizer(core: Any, jitted: Any) -> None:
    import jax

    last: Calls = []
    calls: Calls = []

    class Agent:
        def __init__(self) -> None:
            self.act = jax.jit(lambda x: (self, x)[1])

        def __del__(self) -> None:
            last.append(self.act(7))

    agent = Agent()
    gone = weakref.ref(agent.act)
    region = core.region("hooked")
    core.attach(agent.act, lambda act: region.wrap(act, after=lambda _, *args: calls.append(args)))
    assert agent.act(1) == 1
    del agent
    gc.collect()
    assert gone() is None
    assert (calls, last) == ([(1,)], [7])


def test_hooks_leave_nothing_behind(core: Any, jitted: Any) -> None:
    import jax

    def hooks() -> int:
        gc.collect()
        kinds = ("Original", "Link", "Timed")
        return sum(type(each).__name__ in kinds for each in gc.get_objects())

    before = hooks()
    for index in range(300):
        function = jax.jit(lambda x, index=index: x + index)
        core.attach(function, core.region("hooked").wrap)
        assert function(1) == 1 + index
    del function
    assert hooks() == before


def test_bound_methods_are_left_to_their_caller(core: Any) -> None:
    assert core.attach(Thing(1).method, lambda original: original) is None
