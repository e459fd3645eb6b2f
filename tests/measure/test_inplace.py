"""Python functions hooked where they stand: every call is seen, and the program sees nothing."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import operator
import pickle
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hooked_functions import Calls, Heir, Thing, add

from hotloop.measure.core import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="without the native core")


IS_DEBUG_BUILD = hasattr(sys, "gettotalrefcount")


class TestCalls:
    """Every way to call a function is hooked, also at call sites that were specialised before."""

    @pytest.mark.parametrize("warm", [False, True])
    @pytest.mark.parametrize(
        ("function", "call"),
        [
            (add, lambda t: add(1)),
            (add, lambda t: add(1, 2)),
            (add, lambda t: add(1, b=2, c=3)),
            (add, lambda t: add(*(1, 2))),
            (add, lambda t: add(**{"a": 1})),
            (add, lambda t: list(map(add, (1,)))),
            (Thing.method, lambda t: t.method()),
            (Thing.method, lambda t: t.method(1)),
            (Thing.method, lambda t: t.method(more=1)),
            (Thing.method, lambda t: t.method(*(1,))),
            (Thing.method, lambda t: Thing.method(t, 1)),
            (Thing.method, lambda t: Heir(1).method(1)),
            (Thing.method, lambda t: operator.methodcaller("method", 1)(t)),
            (Thing.made.__func__, lambda t: Thing.made(1).value),
            (Thing.twice, lambda t: t.twice(1)),
            (Thing.__call__, lambda t: t(1)),
            (Thing.__getitem__, lambda t: t[1]),
            (Thing.__add__, lambda t: t + 1),
            (Thing.__len__, lambda t: len(t)),
            (Thing.prop.fget, lambda t: t.prop),
            (Thing.__getattr__, lambda t: t.other),
        ],
    )
    def test_hooked(self, hook: Any, function: Any, call: Any, warm: bool) -> None:
        thing, calls = Thing(5), []

        def repeat(times: int) -> None:
            for _ in range(times):
                call(thing)

        repeat(2000 if warm else 0)
        plain = call(thing)
        detach = hook(function, calls)
        repeat(1000)
        assert len(calls) == 1000
        assert call(thing) == plain
        detach()
        repeat(1000)
        assert len(calls) == 1001

    @pytest.mark.skipif(IS_DEBUG_BUILD, reason="it asserts the exact type of an __init__")
    def test_init(self, hook: Any) -> None:
        # A class gets its new __init__ when hooks are attached (see hooks.install).
        calls: Calls = []
        hook(Thing.__init__, calls)
        Thing.__init__ = Thing.__init__  # type: ignore[method-assign]
        for value in range(1000):
            Thing(value)
        assert len(calls) == 1000

    def test_a_warm_call_site_with_a_literal_call(self, hook: Any) -> None:
        calls: Calls = []

        def loop() -> int:
            total = 0
            for i in range(2000):
                total += add(i, 1)
            return total

        loop()
        detach = hook(add, calls)
        loop()
        assert len(calls) == 2000
        detach()
        loop()
        assert len(calls) == 2000


class TestTheObject:
    def test_what_a_program_can_ask(self, hook: Any) -> None:
        facts = [
            lambda: repr(add),
            lambda: (add.__code__, add.__defaults__, add.__kwdefaults__, add.__globals__),
            lambda: add.__class__,
            lambda: (add.__doc__, add.__module__, add.__name__, add.__qualname__),
            lambda: (add.__dict__, add.__annotations__, add.__closure__, dir(add)),
            lambda: isinstance(add, types.FunctionType),
            lambda: (inspect.isfunction(add), inspect.isroutine(add), callable(add)),
            lambda: inspect.getfullargspec(add),
            lambda: str(inspect.signature(add)),
            lambda: inspect.getfile(add),
            lambda: inspect.getsource(add),
            lambda: (copy.copy(add) is add, copy.deepcopy(add) is add),
            lambda: [pickle.loads(pickle.dumps(add, p)) is add for p in range(6)],
            lambda: pickle._loads(pickle._dumps(add)) is add,  # type: ignore[attr-defined]
            lambda: [pickle.loads(pickle.dumps(Thing.method, p)) for p in (4, 5)],
            lambda: [name for name, _ in inspect.getmembers(Thing, inspect.isfunction)],
            lambda: type(Thing(1).method),
            lambda: repr(type(add)),
            lambda: types.FunctionType(add.__code__, {})(1, 2, c=0),
            lambda: hash(add) == hash(add) and add in {add},
        ]
        plain = [fact() for fact in facts]
        hook(add, [])
        hook(Thing.method, [])
        assert [fact() for fact in facts] == plain

    @pytest.mark.skipif(sys.version_info[:2] == (3, 11), reason="a subtype of it in Python 3.11")
    def test_the_type_is_the_same(self, hook: Any) -> None:
        hook(add, [])
        assert type(add) is types.FunctionType

    def test_a_compiler_sees_the_type(self, hook: Any, core: Any) -> None:
        calls: Calls = []
        hook(add, calls)
        core.compiler(1, 0)
        assert type(add) is types.FunctionType
        core.in_graph(add)
        core.compiler(-1, 1)
        assert type(add) is types.FunctionType
        core.compiler(0, -1)
        assert add(1) == 3
        assert calls == [(1,)]

    def test_weak_references(self, hook: Any) -> None:
        thing = Thing(1)
        before = weakref.WeakMethod(thing.method)
        hook(Thing.method, [])
        after = weakref.WeakMethod(thing.method)
        assert before() == after() == thing.method
        assert weakref.ref(add)() is add

    def test_attributes_can_be_set(self, hook: Any) -> None:
        def function(a: int = 1) -> int:
            return a

        hook(function, [])
        function.note = 1  # type: ignore[attr-defined]
        function.__defaults__ = (5,)
        assert (function(), function.note) == (5, 1)  # type: ignore[attr-defined]
        function.__code__ = (lambda a: a + 1).__code__
        assert function() == 6

    def test_generators_and_coroutines_stay_what_they_are(self, hook: Any) -> None:
        def generate() -> Iterator[int]:
            yield 1

        async def wait() -> int:
            return 1

        hook(generate, [])
        hook(wait, [])
        assert inspect.isgeneratorfunction(generate)
        assert list(generate()) == [1]
        assert inspect.iscoroutinefunction(wait)
        assert asyncio.run(wait()) == 1

    def test_other_kinds_are_left_to_their_caller(self, core: Any) -> None:
        for other in (Thing, Thing(1), len.__call__, object.__repr__, 3):
            assert core.attach(other, lambda original: original) is None

    def test_a_function_is_freed_after_its_hook(self, core: Any) -> None:
        def make() -> Callable[[], int]:
            return lambda: 1

        function = make()
        gone = weakref.ref(function)
        detach = core.attach(function, core.region("hooked").wrap)
        detach()
        del function, detach
        gc.collect()
        assert gone() is None


class TestHooks:
    def test_several_nest_and_leave_in_any_order(self, core: Any) -> None:
        order: list[str] = []

        def around(name: str) -> Callable[[Any], Any]:
            def make(original: Any) -> Any:
                def call(*args: Any) -> Any:
                    order.append(name)
                    return original(*args)

                return call

            return make

        detaches = [core.attach(add, around(name)) for name in "abc"]
        assert add(1) == 3
        assert order == ["c", "b", "a"]
        order.clear()
        detaches[1]()
        assert add(1) == 3
        assert order == ["c", "a"]
        order.clear()
        detaches[2]()
        detaches[2]()
        assert add(1) == 3
        assert order == ["a"]
        detaches[0]()
        order.clear()
        assert add(1) == 3
        assert order == []
        assert type(add) is types.FunctionType

    def test_detached_while_it_runs(self, core: Any) -> None:
        def function(n: int) -> int:
            detach()
            gc.collect()
            return n

        detach = core.attach(function, core.region("hooked").wrap)
        assert function(3) == 3
        assert function(4) == 4

    def test_the_original_has_no_hook(self, hook: Any, core: Any) -> None:
        calls: Calls = []
        hook(add, calls)
        hook(divmod, calls)
        assert core.original(add)(1) == 3
        assert core.original(divmod)(7, 2) == (3, 1)
        assert core.original(len) is len
        hook(gc.isenabled, calls)()
        assert core.original(gc.isenabled) is gc.isenabled
        assert calls == []

    def test_a_wrapper_that_cannot_be_made_changes_nothing(self, core: Any) -> None:
        def refuse(original: Any) -> Any:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            core.attach(add, refuse)
        assert type(add) is types.FunctionType
        assert add(1) == 3

    def test_a_wrapper_may_leave_it_alone(self, core: Any) -> None:
        detach = core.attach(add, lambda original: original)
        assert core.original(add) is add
        detach()
        assert add(1) == 3

    def test_a_note_that_fails_never_reaches_the_program(self, core: Any) -> None:
        def fail(*_: Any) -> None:
            raise RuntimeError("ours")

        detach = core.attach(add, lambda original: core.region("hooked").wrap(original, after=fail))
        assert add(1) == 3
        assert add(2) == 4
        assert "ours" in core.failures["hooked"]
        detach()

    def test_threads(self, hook: Any) -> None:
        calls: Calls = []

        def work() -> None:
            for i in range(2000):
                add(i)

        hook(add, calls)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(calls) == 8000


def test_a_weak_hook_does_not_keep_its_function_alive(core: Any) -> None:
    called: Calls = []

    def made(value: int) -> Any:
        def inner(more: int = 0) -> int:
            return value + more

        inner.itself = inner  # type: ignore[attr-defined]
        return inner

    def observed(original: Any) -> Any:
        def call(*args: int) -> Any:
            called.append(args)
            return original(*args)

        return call

    for circular in (False, True):
        function = made(1)
        if not circular:
            del function.itself
        gone = weakref.ref(function)
        detach = core.attach(function, observed, True)
        assert function(2) == 3
        assert type(function) is types.FunctionType or sys.version_info[:2] == (3, 11)
        original = core.original(function)
        del function
        gc.collect()
        assert gone() is None
        with pytest.raises(ReferenceError):
            original(2)
        detach()
    assert called == [(2,), (2,)]
    # Another function may get the address of one that has died.
    assert [made(each)(1) for each in range(50)] == list(range(1, 51))
    assert called == [(2,), (2,)]


def test_a_weak_hook_is_detached(core: Any) -> None:
    called: Calls = []

    def function() -> int:
        return 1

    def observed(original: Any) -> Any:
        return lambda: called.append(()) or original()

    detach = core.attach(function, observed, True)
    assert (function(), len(called)) == (1, 1)
    detach()
    assert (function(), len(called)) == (1, 1)
