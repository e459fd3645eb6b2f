"""Both region clocks: functions inside a region."""

from __future__ import annotations

from typing import Any

import pytest
from region_trees import Tree


def test_times_the_call_and_keeps_the_function(tree: Tree, clock: Any) -> None:
    def add(a: int, b: int = 2) -> int:
        """Adds."""
        clock.pass_ns(10)
        return a + b

    timed = tree.core.region("add").wrap(add)
    assert timed(1, b=5) == 6
    assert (timed.__name__, timed.__doc__, timed.__wrapped__) == ("add", "Adds.", add)
    assert tree.figures()["add"]["elapsed"] == 10


def test_the_region_of_a_disabled_profiler_leaves_the_function_as_it_is(tree: Tree) -> None:
    tree.core.disable()
    assert tree.core.profile("off").wrap(abs)(-3) == 3
    assert "off" not in tree.figures()


def test_is_a_method_when_set_on_a_class(tree: Tree) -> None:
    class Env:
        def step(self, action: int) -> tuple[Any, int]:
            return self, action

    Env.step = tree.core.region("env.step").wrap(Env.step)
    env = Env()
    assert env.step(3) == (env, 3)
    assert Env.step(env, 4) == (env, 4)
    assert tree.figures()["env.step"]["calls"] == 2


def test_closes_the_region_when_the_function_raises(tree: Tree, clock: Any) -> None:
    def fail() -> None:
        clock.pass_ns(1)
        raise KeyError("no")

    with pytest.raises(KeyError):
        tree.core.region("fail").wrap(fail)()
    with tree.core.profile("next"):
        pass
    assert set(tree.figures()) == {"fail", "next"}


def test_notes_the_result_outside_the_region(tree: Tree, clock: Any) -> None:
    seen: list[Any] = []

    def note(result: Any, *args: Any, **kwargs: Any) -> None:
        clock.pass_ns(1000)
        seen.append((result, args, kwargs))

    timed = tree.core.region("f").wrap(lambda *a, **k: "r", after=note)
    timed(1, 2, x=3)
    assert seen == [("r", (1, 2), {"x": 3})]
    assert tree.figures()["f"]["elapsed"] == 0


def test_a_note_that_fails_is_switched_off_and_reported(tree: Tree) -> None:
    calls: list[int] = []

    def note(*_: Any) -> None:
        calls.append(1)
        raise RuntimeError("broken hook")

    timed = tree.core.region("f").wrap(lambda: 5, after=note)
    assert [timed(), timed()] == [5, 5]
    assert calls == [1]
    assert "broken hook" in tree.core.failures["f"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_only_arrives_in_a_note_is_the_programs(tree: Tree, kind: type[BaseException]) -> None:
    """Ctrl-C may come at any line, also at one of hotloop's."""
    arrives = [True, False]

    def note(*_: Any) -> None:
        if arrives.pop(0):
            raise kind

    timed = tree.core.region("f").wrap(lambda: 5, after=note)
    with pytest.raises(kind):
        timed()
    assert timed() == 5
    assert arrives == []  # the note is still there
    assert dict(tree.core.failures) == {}


def test_outermost_is_timed_and_noted_once(tree: Tree) -> None:
    notes: list[int] = []
    region = tree.core.region("env.step")
    inner = region.wrap(lambda: 1, after=lambda *_: notes.append(1), outermost=True)
    outer = region.wrap(lambda: inner(), after=lambda *_: notes.append(2), outermost=True)
    assert outer() == 1
    assert notes == [2]
    assert tree.figures()["env.step"]["calls"] == 1


def test_always_notes_inner_calls_too(tree: Tree) -> None:
    notes: list[int] = []
    region = tree.core.region("import")
    inner = region.wrap(lambda: 1, after=lambda *_: notes.append(1), outermost=True, always=True)
    region.wrap(lambda: inner(), outermost=True)()
    assert notes == [1]


def test_many_arguments(tree: Tree) -> None:
    seen: list[int] = []
    timed = tree.core.region("f").wrap(
        lambda *a, **k: len(a) + len(k), after=lambda r, *a, **k: seen.append(len(a) + len(k))
    )
    assert timed(*range(40), **{f"k{i}": i for i in range(20)}) == 60
    assert seen == [60]
