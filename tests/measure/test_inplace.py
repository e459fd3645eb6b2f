"""Hooks that leave the function object where it is: what the program can tell, and what it cannot."""

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

from hotloop.measure.core import NATIVE, Core

pytestmark = pytest.mark.skipif(not NATIVE, reason="without the native core")

Calls = list[tuple[Any, ...]]
IS_DEBUG_BUILD = hasattr(sys, "gettotalrefcount")


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


def calls_of(core: Any, name: str = "hooked") -> int:
    _, rows, _, _ = core.snapshot()
    names = {node: label for node, _, label, _ in core.nodes()}
    return sum(row[1] for row in rows if names[row[0]] == name)


def add(a: int, b: int = 2, *, c: int = 0) -> int:
    """Adds."""
    return a + b + c


class Thing:
    def __init__(self, value: int = 0) -> None:
        self.value = value

    def method(self, more: int = 0) -> int:
        return self.value + more

    @classmethod
    def made(cls, value: int) -> Thing:
        return cls(value)

    @staticmethod
    def twice(value: int) -> int:
        return 2 * value

    def __call__(self, value: int) -> int:
        return value

    def __getitem__(self, key: int) -> int:
        return key

    def __add__(self, other: int) -> int:
        return self.value + other

    def __len__(self) -> int:
        return 3

    @property
    def prop(self) -> int:
        return self.value

    def __getattr__(self, name: str) -> str:
        return name


class Heir(Thing):
    def method(self, more: int = 0) -> int:
        return super().method(more) + 1


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


class TestBuiltins:
    def test_every_calling_convention(self, hook: Any) -> None:
        text = "a b"
        for function, arguments, names in [
            (gc.isenabled, (), {}),  # METH_NOARGS
            (sys.getsizeof, (1,), {}),  # METH_VARARGS | METH_KEYWORDS
            (sys.intern, ("x",), {}),  # METH_O
            (gc.collect, (0,), {}),
            (gc.collect, (), {"generation": 0}),
            (divmod, (7, 2), {}),  # METH_FASTCALL
            (sorted, ([2, 1],), {"reverse": True}),  # METH_FASTCALL | METH_KEYWORDS
            (str.split, (text,), {"maxsplit": 1}),
            (str.upper, (text,), {}),
            (str.join, (text, ("x", "y")), {}),
            (str.startswith, (text, "a"), {}),
            (str.format, (text, *range(20)), {}),
        ]:
            calls: Calls = []
            plain = function(*arguments, **names)  # type: ignore[operator]
            detach = hook(function, calls)
            for _ in range(200):
                result = function(*arguments, **names)  # type: ignore[operator]
            assert (len(calls), result) == (200, plain) or function is gc.collect
            assert calls[0] == arguments
            detach()
            function(*arguments, **names)  # type: ignore[operator]
            assert len(calls) == 200

    def test_specialised_call_sites(self, hook: Any) -> None:
        calls: Calls = []
        text = "a b"

        def loop() -> None:
            for _ in range(500):
                divmod(7, 2)
                "a b".upper()
                text.split(" ")
                "a b".startswith("a")
                gc.isenabled()

        loop()
        functions = (divmod, str.upper, str.split, str.startswith, gc.isenabled)
        for function in functions:
            hook(function, calls)
        loop()
        assert len(calls) == 500 * len(functions)

    def test_a_bound_method_outlives_the_hook(self, hook: Any) -> None:
        calls: Calls = []
        detach = hook(str.upper, calls)
        bound = "a".upper
        assert bound() == "A"
        detach()
        assert bound() == "A"
        assert "b".upper() == "B"

    def test_errors_are_those_of_the_function(self, hook: Any) -> None:
        def message(call: Callable[[], object]) -> str:
            with pytest.raises((TypeError, ZeroDivisionError)) as caught:
                call()
            return repr(caught.value)

        wrong: list[Callable[[], object]] = [
            lambda: divmod(1),  # type: ignore[call-overload]
            lambda: divmod(1, 0),
            lambda: str.upper(1),  # type: ignore[arg-type]
            lambda: "a".upper(1),  # type: ignore[call-arg]
            lambda: gc.isenabled(1),  # type: ignore[call-arg]
            lambda: add(),  # type: ignore[call-arg]
            lambda: add(1, 2, 3),  # type: ignore[misc]
        ]
        plain = [message(call) for call in wrong]
        for function in (divmod, str.upper, gc.isenabled, add):
            hook(function, [])
        assert [message(call) for call in wrong] == plain

    def test_the_object_is_the_same(self, hook: Any) -> None:
        known = {divmod, str.upper}
        facts = [
            lambda: repr(divmod),
            lambda: divmod.__text_signature__,
            lambda: str(inspect.signature(divmod)),
            lambda: divmod.__self__.__name__,
            lambda: pickle.loads(pickle.dumps(divmod)) is divmod,
            lambda: pickle.loads(pickle.dumps(str.upper)) is str.upper,
            lambda: repr(str.upper),
            lambda: "a".upper.__self__,
            lambda: type("a".upper),
            lambda: divmod.__doc__,
            lambda: (hash(divmod), hash(str.upper), divmod in known, str.upper in known),
        ]
        plain = [fact() for fact in facts]
        hook(divmod, [])
        hook(str.upper, [])
        assert [fact() for fact in facts] == plain


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


def scale(x: int, *, by: int = 2) -> int:
    """Scales."""
    return x * by


@pytest.mark.framework
class TestObjects:
    """Objects with a vectorcall of their own: a jitted function of JAX."""

    @pytest.fixture
    def jitted(self) -> Iterator[Any]:
        jax = pytest.importorskip("jax")
        with jax.disable_jit():  # calls run the function: no backend with threads is started here
            yield jax.jit(scale)

    def test_every_call_is_hooked(self, hook: Any, jitted: Any) -> None:
        calls: Calls = []
        detach = hook(jitted, calls)
        assert (jitted(1), jitted(2, by=3), jitted(*(3,), **{"by": 4})) == (2, 6, 12)
        assert (jitted.__call__(4), list(map(jitted, (5,)))) == (8, [10])
        assert calls == [(1,), (2,), (3,), (4,), (5,)]
        detach()
        assert jitted(6) == 12
        assert len(calls) == 5

    def test_other_objects_of_its_type_are_not(self, hook: Any, jitted: Any) -> None:
        import jax

        calls: Calls = []
        hook(jitted, calls)
        assert jax.jit(scale)(1) == 2
        assert calls == []

    def test_what_a_program_can_ask(self, hook: Any, jitted: Any) -> None:
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

    def test_copies_have_no_hook(self, hook: Any, jitted: Any) -> None:
        calls: Calls = []
        hook(jitted, calls)
        assert copy.copy(jitted)(1) == 2
        assert calls == []

    def test_errors_are_those_of_the_function(self, hook: Any, jitted: Any) -> None:
        def message(**names: Any) -> str:
            with pytest.raises(TypeError) as caught:
                jitted(**names)
            return repr(caught.value)

        plain = [message(), message(x=None), message(x=1, other=2)]
        hook(jitted, [])
        assert [message(), message(x=None), message(x=1, other=2)] == plain

    def test_several_nest_and_leave_in_any_order(self, hook: Any, jitted: Any, core: Any) -> None:
        first: Calls = []
        second: Calls = []
        detach = hook(jitted, first)
        hook(jitted, second)
        assert core.original(jitted)(1) == 2
        assert jitted(1) == 2
        detach()
        assert jitted(1) == 2
        assert (len(first), len(second)) == (1, 2)

    def test_detached_while_it_runs(self, core: Any, jitted: Any) -> None:
        def make(original: Any) -> Any:
            def call(*args: Any) -> Any:
                detach()
                gc.collect()
                return original(*args)

            return call

        detach = core.attach(jitted, make)
        assert (jitted(1), jitted(2)) == (2, 4)
        assert core.original(jitted) is jitted

    def test_it_is_freed_while_it_is_hooked(self, core: Any, jitted: Any) -> None:
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

    def test_it_is_freed_in_a_circle_and_may_be_called_by_a_finalizer(
        self, core: Any, jitted: Any
    ) -> None:
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
        core.attach(
            agent.act, lambda act: region.wrap(act, after=lambda _, *args: calls.append(args))
        )
        assert agent.act(1) == 1
        del agent
        gc.collect()
        assert gone() is None
        assert (calls, last) == ([(1,)], [7])

    def test_hooks_leave_nothing_behind(self, core: Any, jitted: Any) -> None:
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

    def test_bound_methods_are_left_to_their_caller(self, core: Any) -> None:
        assert core.attach(Thing(1).method, lambda original: original) is None


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


class TestRecursion:
    @pytest.mark.parametrize("outermost", [True, False])
    @pytest.mark.parametrize("enabled", [True, False])
    def test_as_deep_as_without(self, core: Any, outermost: bool, enabled: bool) -> None:
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

    def test_with_a_raised_limit(self, core: Any) -> None:
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

    def test_in_threads(self, core: Any) -> None:
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


def test_special_methods_of_a_c_class(hook: Callable[[Any, Calls], Callable[[], None]]) -> None:
    import sqlite3

    calls: Calls = []
    method: Any = vars(sqlite3.Connection)["__exit__"]
    before = repr(method), method.__doc__, inspect.ismethoddescriptor(method)
    detach = hook(method, calls)
    connection = sqlite3.connect(":memory:")
    with connection:
        pass
    bound = connection.__exit__
    bound(None, None, None)
    method(connection, None, None, None)
    assert calls == [(connection, None, None, None)] * 3
    for wrong in ((), (1,), range(20)):
        with pytest.raises(TypeError):
            bound(*wrong)
    assert (repr(method), method.__doc__, inspect.ismethoddescriptor(method)) == before
    detach()
    with connection:
        bound(None, None, None)  # made while it was hooked
    assert len(calls) == 3
    connection.close()
