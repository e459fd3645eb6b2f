"""Helpers with which tables hook functions: what they time, what they note, and that they are safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from hotloop.hooks import wrapping
from hotloop.hooks.context import HookContext
from hotloop.measure.profiler import Profiler


@pytest.fixture
def context() -> Iterator[HookContext]:
    profiler = Profiler()
    profiler.enable()
    yield HookContext(profiler)
    profiler.disable()


def calls(context: HookContext) -> dict[str, int]:
    phases = context.profiler.close_window().phases
    return {path: delta.calls for path, delta in phases.items() if path}


def double(x: int) -> int:
    """Twice."""
    return 2 * x


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("no such field")


def test_timed_unless_a_phase_is_open(context: HookContext) -> None:
    hook = wrapping.timed(context, "log", unless=("compile",))(double)
    assert hook(2) == 4
    with context.profiler.profile("compile"):
        assert hook(3) == 6
    assert calls(context) == {"log": 1, "compile": 1}
    assert (hook.__name__, hook.__doc__) == ("double", "Twice.")


def test_timed_unless_the_arguments_say_so(context: HookContext) -> None:
    hook = wrapping.timed(context, "log", lambda x: x < 0)(double)
    assert [hook(-1), hook(1)] == [-2, 2]
    assert calls(context) == {"log": 1}


def test_dispatch_to_the_chosen_region(context: HookContext) -> None:
    seen: list[int] = []
    small, large = map(context.core.region, ("wait", "transfer"))
    hook = wrapping.dispatch(
        context,
        lambda x: None if x == 0 else small if x < 10 else large,
        after=lambda result, x: seen.append(result),
    )(double)
    assert [hook(x) for x in (0, 1, 10, 2)] == [0, 2, 20, 4]
    assert calls(context) == {"wait": 2, "transfer": 1}
    assert seen == [2, 20, 4]


def test_suspend_makes_siblings(context: HookContext) -> None:
    core = context.core
    outer, inner = core.region("tensordict"), core.region("env.step")
    hook = wrapping.suspend(outer, core.is_open)(inner.wrap(double))
    assert hook(1) == 2
    outer.wrap(lambda: hook(1))()
    assert calls(context) == {"env.step": 2, "tensordict": 2}


def test_a_generator_counts_while_it_produces(context: HookContext) -> None:
    seen: list[int] = []
    open_phases: list[bool] = []
    closed: list[bool] = []

    def count(n: int) -> Iterator[int]:
        try:
            yield from range(n)
        finally:
            closed.append(True)

    hook = wrapping.generator(context, "batch", lambda n: seen.append)(count)
    for item in hook(3):
        open_phases.append(context.core.is_open("batch"))
        if item == 1:
            break
    del item
    assert list(hook(2)) == [0, 1]
    assert seen == [0, 1, 0, 1]
    assert open_phases == [False, False]
    assert closed == [True, True]
    assert calls(context) == {"batch": 5}


def test_bytes_are_counted(context: HookContext) -> None:
    hook = wrapping.count_bytes(context, "pipe_messages", "pipe_bytes", lambda result: len(result))
    assert hook(lambda: b"four")() == b"four"
    counters = context.profiler.close_window().counters
    assert (counters["pipe_messages"], counters["pipe_bytes"]) == (1, 4)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda context: wrapping.timed(context, "log", broken),
        lambda context: wrapping.timed(context, "log", after=broken),
        lambda context: wrapping.dispatch(context, broken),
        lambda context: wrapping.observe(context, after=broken, before=broken),
        lambda context: wrapping.count_bytes(context, "a", "b", broken),
    ],
)
def test_an_error_of_a_note_never_reaches_the_program(
    context: HookContext, wrap: Callable[[HookContext], Callable[..., Callable[..., int]]]
) -> None:
    hook = wrap(context)(double)
    assert [hook(1), hook(2)] == [2, 4]
    assert any("no such field" in error for error in context.failures.values())


def test_an_error_of_the_program_is_its_own(context: HookContext) -> None:
    for wrapper in (wrapping.timed(context, "log"), wrapping.observe(context, print)):
        with pytest.raises(RuntimeError, match="no such field"):
            wrapper(broken)()
    assert not context.failures
    assert not context.core.is_open("log")


def test_a_function_with_attributes_of_an_odd_kind() -> None:
    class Odd:
        def __init__(self) -> None:
            self.__qualname__ = 3

        def __call__(self, x: int) -> int:
            return x

    context = HookContext(Profiler())
    assert wrapping.observe(context)(Odd())(5) == 5
