"""Both region clocks: what every combination of entering and leaving comes to."""

from __future__ import annotations

import asyncio
import gc
import math
import os
import threading
from types import ModuleType
from typing import Any

import pytest

from hotloop.histogram import quantile
from hotloop.phases import flags_of

#: Gaps need the native module.
native_only = pytest.mark.parametrize("region_clock", ["native"], indirect=True)


class Tree:
    """A core under test, and its figures by path."""

    def __init__(self, module: ModuleType, clock: Any = None, **options: Any) -> None:
        self.core = module.Core(clock=clock, **options)
        self.core.enable()

    def figures(self) -> dict[str, dict[str, Any]]:
        _, rows, self.counters, self.loop_last = self.core.snapshot()
        paths: dict[int, str] = {}
        for node, parent, name, root in self.core.nodes():
            paths[node] = name if parent == -1 else f"{paths[parent] or ''}/{name}"
            if name is None:
                paths[node] = f"@{root}"
        keys = ("calls", "self", "elapsed", "min", "max", "histogram", "first", "last", "resident")
        return {
            paths[row[0]].replace("@0/", "").replace("@0", ""): dict(
                zip(keys, row[1:], strict=True)
            )
            for row in rows
        }


@pytest.fixture
def tree(region_clock: ModuleType, clock: Any) -> Tree:
    return Tree(region_clock, clock)


def test_nesting_gives_total_and_self_time(tree: Tree, clock: Any) -> None:
    with tree.core.profile("outer"):
        clock.pass_ns(100)
        for _ in range(2):
            with tree.core.profile("inner"):
                clock.pass_ns(30)
        clock.pass_ns(5)
    figures = tree.figures()
    assert figures["outer"]["elapsed"] == 165
    assert figures["outer"]["self"] == 105
    assert figures["outer/inner"]["calls"] == 2
    assert figures["outer/inner"]["elapsed"] == figures["outer/inner"]["self"] == 60


def test_time_in_no_region_belongs_to_the_root(tree: Tree, clock: Any) -> None:
    clock.pass_ns(7)
    with tree.core.profile("a"):
        clock.pass_ns(1)
    clock.pass_ns(2)
    assert tree.figures()[""]["self"] == 9


def test_the_same_region_in_two_places_is_two_places(tree: Tree, clock: Any) -> None:
    with tree.core.profile("a"):
        clock.pass_ns(1)
    with tree.core.profile("b"), tree.core.profile("a"):
        clock.pass_ns(2)
    figures = tree.figures()
    assert figures["a"]["elapsed"] == 1
    assert figures["b/a"]["elapsed"] == 2


def test_recursion_is_one_place_and_its_total_counts_once(tree: Tree, clock: Any) -> None:
    def descend(depth: int) -> None:
        with tree.core.profile("f"):
            clock.pass_ns(10)
            if depth:
                with tree.core.profile("g"):
                    descend(depth - 1)

    descend(3)
    figures = tree.figures()
    assert set(figures) <= {"", "f", "f/g"}
    assert figures["f"]["calls"] == 4
    assert figures["f"]["elapsed"] == 40
    assert figures["f"]["self"] + figures["f/g"]["self"] == 40


def test_an_exception_closes_its_regions(tree: Tree, clock: Any) -> None:
    try:
        with tree.core.profile("a"), tree.core.profile("b"):
            clock.pass_ns(3)
            raise ValueError("x")
    except ValueError:
        pass
    with tree.core.profile("c"):
        clock.pass_ns(1)
    figures = tree.figures()
    assert figures["a/b"]["elapsed"] == 3
    assert figures["c"]["elapsed"] == 1


def test_an_exit_out_of_order_closes_only_that_region(tree: Tree, clock: Any) -> None:
    a, b = tree.core.region("a"), tree.core.region("b")
    a.enter()
    clock.pass_ns(10)
    b.enter()
    clock.pass_ns(10)
    a.exit()
    clock.pass_ns(10)
    b.exit()
    figures = tree.figures()
    assert figures["a"]["elapsed"] == 20
    assert figures["a/b"]["elapsed"] == 20
    assert sum(f["self"] for f in figures.values()) == 30


def test_an_exit_without_entry_is_counted_and_changes_nothing(tree: Tree, clock: Any) -> None:
    tree.core.region("never").exit()
    with tree.core.profile("a"):
        clock.pass_ns(1)
    assert tree.core.unmatched == 1
    assert tree.figures()["a"]["elapsed"] == 1


def test_a_region_that_is_open_counts_up_to_each_snapshot(tree: Tree, clock: Any) -> None:
    region = tree.core.region("long")
    region.enter()
    clock.pass_ns(100)
    first = tree.figures()["long"]
    assert (first["calls"], first["elapsed"], first["self"]) == (0, 100, 100)
    clock.pass_ns(50)
    region.exit()
    second = tree.figures()["long"]
    assert (second["calls"], second["elapsed"]) == (1, 50)
    assert second["max"] == 150


def test_disabled_regions_count_nothing(tree: Tree, clock: Any) -> None:
    tree.core.disable()
    with tree.core.profile("a"):
        clock.pass_ns(10)
    tree.core.count("n")
    assert tree.figures() == {}
    assert tree.counters == {}


def test_disabling_inside_a_region_counts_up_to_there(tree: Tree, clock: Any) -> None:
    with tree.core.profile("a"):
        clock.pass_ns(10)
        tree.core.disable()
        clock.pass_ns(1000)
    figure = tree.figures()["a"]
    assert (figure["calls"], figure["elapsed"], figure["self"], figure["max"]) == (1, 10, 10, 10)


def test_enabling_again_inside_a_region_counts_from_there(tree: Tree, clock: Any) -> None:
    with tree.core.profile("a"):
        clock.pass_ns(10)
        tree.core.disable()
        with tree.core.profile("unseen"):
            clock.pass_ns(1000)
        tree.core.enable()
        clock.pass_ns(5)
    figures = tree.figures()
    assert (figures["a"]["elapsed"], figures["a"]["max"]) == (15, 15)
    assert set(figures) == {"a"}


def test_enabling_in_a_region_that_was_entered_disabled_ignores_its_exit(
    region_clock: ModuleType, clock: Any
) -> None:
    core = region_clock.Core(clock=clock)
    with core.profile("a"):
        core.enable()
        clock.pass_ns(10)
    assert all(row[1] == 0 for row in core.snapshot()[1])


def test_threads_have_trees_of_their_own(region_clock: ModuleType) -> None:
    tree = Tree(region_clock)
    inside, leave = threading.Barrier(5), threading.Barrier(5)

    def work() -> None:
        with tree.core.profile("work"), tree.core.profile("deep"):
            inside.wait()
            leave.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    inside.wait()
    with tree.core.profile("main only"):
        leave.wait()
        for thread in threads:
            thread.join()
    figures = tree.figures()
    assert figures["main only"]["calls"] == 1
    assert "main only/work" not in figures
    deep = {path: f["calls"] for path, f in figures.items() if path.endswith("/deep")}
    assert deep == {f"@{n}/work/deep": 1 for n in range(1, 5)}


def test_threads_that_come_and_go_share_a_root(region_clock: ModuleType) -> None:
    tree = Tree(region_clock)

    def work() -> None:
        with tree.core.profile("work"):
            pass

    calls = 0
    for _ in range(30):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        calls += sum(f["calls"] for p, f in tree.figures().items() if p.endswith("work"))
    assert calls == 30
    assert len(tree.core.nodes()) < 30


def test_a_thread_that_ends_inside_a_region_leaves_it_closed(region_clock: ModuleType) -> None:
    tree = Tree(region_clock)
    thread = threading.Thread(target=lambda: tree.core.region("left open").enter())
    thread.start()
    thread.join()
    figures = tree.figures()
    assert figures["@1/left open"]["calls"] == 1


def test_tasks_of_asyncio_do_not_nest_in_each_other(region_clock: ModuleType) -> None:
    tree = Tree(region_clock)

    async def task(name: str, gate: asyncio.Event) -> None:
        with tree.core.profile(name):
            await gate.wait()
            with tree.core.profile("inner"):
                await asyncio.sleep(0)

    async def main() -> None:
        gate = asyncio.Event()
        tasks = [asyncio.create_task(task(f"t{i % 10}", gate)) for i in range(1000)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)

    with tree.core.profile("loop"):
        asyncio.run(main())
    figures = tree.figures()
    tasks = {p: f["calls"] for p, f in figures.items() if f["calls"] and p != "loop"}
    expected = {f"loop/t{i}": 100 for i in range(10)}
    expected |= {f"loop/t{i}/inner": 100 for i in range(10)}
    assert tasks == expected
    assert tree.core.unmatched == 0
    # Whatever the tasks do, the thread's own time is shared out exactly once.
    assert sum(f["self"] for f in figures.values()) == pytest.approx(
        figures["loop"]["elapsed"] + figures.get("", {"self": 0})["self"], rel=1e-6
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_tasks_of_asyncio_leave_nothing_behind(region_clock: ModuleType) -> None:
    """Thousands of tasks that are inside a region at one time, and one that never leaves it."""
    tree = Tree(region_clock)
    region = tree.core.region("wait")
    kept = []

    async def wait() -> None:
        with region:
            for _ in range(3):
                await asyncio.sleep(0)

    async def never_leaves() -> None:
        region.enter()

    async def main() -> None:
        await asyncio.gather(*(wait() for _ in range(2000)), never_leaves())
        kept.append(tree.core.is_open("wait"))

    asyncio.run(main())
    assert kept == [False]
    assert tree.figures()["wait"]["calls"] in (2000, 2001)
    assert tree.core.unmatched == 0


def test_a_forked_child_counts_from_the_fork(region_clock: ModuleType, clock: Any) -> None:
    tree = Tree(region_clock, clock)
    read, write = os.pipe()
    with tree.core.profile("a"):
        pass
    with tree.core.profile("a"):
        clock.pass_ns(1000)
        child = os.fork()
        if child == 0:
            tree.core.after_fork()
            clock.pass_ns(7)
            tree.core.region("a").exit()
            figures = tree.figures()["a"]
            os.write(write, repr((figures["elapsed"], figures["histogram"])).encode())
            os._exit(0)
        os.waitpid(child, 0)
    assert os.read(read, 100) == b"(7, (7, 1))"
    assert tree.figures()["a"]["elapsed"] == 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@native_only
def test_a_gap_of_the_parent_is_not_the_childs(region_clock: ModuleType, clock: Any) -> None:
    tree = Tree(region_clock, clock)
    loss = tree.core.region("learn.loss")
    read, write = os.pipe()
    with tree.core.profile("learn"):
        loss.gap()
        clock.pass_ns(1000)
        tree.core.end_gap()
        child = os.fork()
        if child == 0:
            tree.core.after_fork()
            clock.pass_ns(7)
            tree.core.claim_gap(loss)
            figures = {path: f["self"] for path, f in tree.figures().items()}
            os.write(write, repr(figures).encode())
            os._exit(0)
        os.waitpid(child, 0)
    assert os.read(read, 1000) == b"{'learn': 7}"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_arrives_as_the_loop_begins_is_the_programs(
    region_clock: ModuleType, kind: type[BaseException]
) -> None:
    """Ctrl-C may come while hotloop closes the window before the loop."""
    arrives = kind(9)

    def on_loop() -> None:
        raise arrives

    tree = Tree(region_clock, describe=flags_of, on_loop=on_loop)

    def train() -> None:
        with tree.core.profile("collect"):
            for _ in range(100):
                pass

    with pytest.raises(kind) as seen:
        train()
    assert seen.value is arrives
    with tree.core.profile("after"):
        pass
    assert "after" in tree.figures()


@pytest.mark.parametrize("calls", [1, 255, 256, 257, 1000])
def test_every_call_is_in_the_histogram_of_its_window(tree: Tree, clock: Any, calls: int) -> None:
    for _ in range(2):
        for i in range(calls):
            with tree.core.profile("a" if i % 3 else "b"):
                clock.pass_ns(40)
        figures = tree.figures()
        assert sum(figures[name]["calls"] for name in figures if name) == calls
        for name in filter(None, figures):
            assert sum(figures[name]["histogram"][1::2]) == figures[name]["calls"]


def test_quantiles_are_within_two_percent(tree: Tree, clock: Any) -> None:
    durations = [int(50 * 1.01**i) for i in range(1500)]
    for duration in durations:
        with tree.core.profile("a"):
            clock.pass_ns(duration)
    flat = tree.figures()["a"]["histogram"]
    histogram = dict(zip(flat[::2], flat[1::2], strict=True))
    for share in (0.5, 0.95, 0.99):
        exact = durations[int(share * (len(durations) - 1))]
        assert quantile(histogram, share) == pytest.approx(exact, rel=0.02)


def test_smallest_and_largest(tree: Tree, clock: Any) -> None:
    for duration in (30, 10, 20):
        with tree.core.profile("a"):
            clock.pass_ns(duration)
    assert (tree.figures()["a"]["min"], tree.core.nodes()[-1][2]) == (10, "a")
    with tree.core.profile("a"):
        clock.pass_ns(40)
    figure = tree.figures()["a"]
    assert (figure["min"], figure["max"], figure["calls"]) == (40, 40, 1)


def test_counters_add_up_and_start_over(tree: Tree) -> None:
    tree.core.count("env_steps", 8)
    tree.core.count("env_steps", 8)
    tree.core.count("loss", 0.5)
    tree.figures()
    assert tree.counters == {"env_steps": 16, "loss": 0.5}
    tree.figures()
    assert tree.counters == {}


@pytest.mark.parametrize("arguments", [(), (1,), ("a", "b"), ("a", 1, 2)])
def test_a_wrong_count_is_an_error(tree: Tree, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        tree.core.count(*arguments)


@pytest.mark.parametrize(
    ("value", "counted"),
    [(True, 1), (10**300, 10**300), (10**400, None), (math.inf, None), (math.nan, None)],
)
def test_any_number_can_be_counted(tree: Tree, value: Any, counted: Any) -> None:
    tree.core.count("n", value)
    counters = tree.core.snapshot()[2]
    assert counters == ({} if counted is None else {"n": counted})
    assert tree.core.dropped == (counted is None)


def test_numbers_of_numpy_can_be_counted(tree: Tree) -> None:
    numpy = pytest.importorskip("numpy")
    for value in (numpy.int64(2), numpy.float32(0.5), numpy.bool_(True), numpy.array(3)):
        tree.core.count("n", value)
    tree.core.count("n", numpy.float32("nan"))
    assert tree.core.snapshot()[2] == {"n": 6.5}
    assert tree.core.dropped == 1


def test_a_region_needs_a_name(tree: Tree) -> None:
    with pytest.raises(TypeError, match="string"):
        tree.core.profile(3)


def test_a_watch_fires_once_when_its_counter_is_reached(tree: Tree) -> None:
    fired: list[int] = []
    tree.core.watch("steps", 10, lambda: fired.append(1))
    for _ in range(9):
        tree.core.count("steps")
    assert fired == []
    tree.core.count("other", 100)
    tree.core.count("steps", 4)
    tree.core.count("steps", 100)
    assert fired == [1]


def test_the_loop_begins_once_and_ends_with_its_last_phase(
    region_clock: ModuleType, clock: Any
) -> None:
    began: list[int] = []
    tree = Tree(region_clock, clock, describe=flags_of, on_loop=lambda: began.append(clock()))
    clock.pass_ns(10)
    with tree.core.profile("data"):
        clock.pass_ns(10)
    start = clock()
    for _ in range(3):
        with tree.core.profile("env.step"):
            clock.pass_ns(5)
    end = clock()
    with tree.core.profile("evaluate"), tree.core.profile("env.step"):
        clock.pass_ns(100)
    tree.figures()
    assert began == [start]
    assert tree.core.loop_first == start
    assert tree.loop_last == end


def test_the_loop_lasts_while_one_of_its_phases_is_open(
    region_clock: ModuleType, clock: Any
) -> None:
    """A whole training may be one call, and may end, or be killed, inside it."""
    tree = Tree(region_clock, clock, describe=flags_of)
    with tree.core.profile("learn"):
        clock.pass_ns(50)
        tree.figures()
        assert tree.loop_last == clock()
        with tree.core.profile("log"):
            clock.pass_ns(50)
        tree.figures()
        assert tree.loop_last == clock()
    with tree.core.profile("log"):
        clock.pass_ns(50)
        tree.figures()
    assert tree.loop_last == clock() - 50


def test_names_without_end_do_not_grow_the_tree_without_end(tree: Tree, clock: Any) -> None:
    for i in range(6000):
        with tree.core.profile(f"step {i}"):
            clock.pass_ns(1)
    figures = tree.figures()
    assert len(figures) <= 4200
    assert sum(f["self"] for f in figures.values()) == 6000
    assert figures["(more regions)"]["calls"] > 0


def test_names_without_end_share_a_region(tree: Tree) -> None:
    regions = {id(tree.core.profile(f"step {i}")) for i in range(6000)}
    assert len(regions) <= 4200
    assert tree.core.profile("another").name == "(more regions)"
    # What hooks name is always found.
    assert tree.core.region("policy.act").name == "policy.act"


def test_skipped_time_is_charged_to_nobody(tree: Tree, clock: Any) -> None:
    with tree.core.profile("a"), tree.core.profile("b"):
        clock.pass_ns(10)
        clock.pass_ns(90)
        tree.core.skip(90)
        clock.pass_ns(5)
    figures = tree.figures()
    assert (figures["a/b"]["self"], figures["a/b"]["elapsed"], figures["a"]["elapsed"]) == (
        15,
        15,
        15,
    )


class TestWrap:
    def test_times_the_call_and_keeps_the_function(self, tree: Tree, clock: Any) -> None:
        def add(a: int, b: int = 2) -> int:
            """Adds."""
            clock.pass_ns(10)
            return a + b

        timed = tree.core.region("add").wrap(add)
        assert timed(1, b=5) == 6
        assert (timed.__name__, timed.__doc__, timed.__wrapped__) == ("add", "Adds.", add)
        assert tree.figures()["add"]["elapsed"] == 10

    def test_is_a_method_when_set_on_a_class(self, tree: Tree) -> None:
        class Env:
            def step(self, action: int) -> tuple[Any, int]:
                return self, action

        Env.step = tree.core.region("env.step").wrap(Env.step)
        env = Env()
        assert env.step(3) == (env, 3)
        assert Env.step(env, 4) == (env, 4)
        assert tree.figures()["env.step"]["calls"] == 2

    def test_closes_the_region_when_the_function_raises(self, tree: Tree, clock: Any) -> None:
        def fail() -> None:
            clock.pass_ns(1)
            raise KeyError("no")

        with pytest.raises(KeyError):
            tree.core.region("fail").wrap(fail)()
        with tree.core.profile("next"):
            pass
        assert set(tree.figures()) == {"fail", "next"}

    def test_notes_the_result_outside_the_region(self, tree: Tree, clock: Any) -> None:
        seen: list[Any] = []

        def note(result: Any, *args: Any, **kwargs: Any) -> None:
            clock.pass_ns(1000)
            seen.append((result, args, kwargs))

        timed = tree.core.region("f").wrap(lambda *a, **k: "r", after=note)
        timed(1, 2, x=3)
        assert seen == [("r", (1, 2), {"x": 3})]
        assert tree.figures()["f"]["elapsed"] == 0

    def test_a_note_that_fails_is_switched_off_and_reported(self, tree: Tree) -> None:
        calls: list[int] = []

        def note(*_: Any) -> None:
            calls.append(1)
            raise RuntimeError("broken hook")

        timed = tree.core.region("f").wrap(lambda: 5, after=note)
        assert [timed(), timed()] == [5, 5]
        assert calls == [1]
        assert "broken hook" in tree.core.failures["f"]

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    def test_what_only_arrives_in_a_note_is_the_programs(
        self, tree: Tree, kind: type[BaseException]
    ) -> None:
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

    def test_outermost_is_timed_and_noted_once(self, tree: Tree) -> None:
        notes: list[int] = []
        region = tree.core.region("env.step")
        inner = region.wrap(lambda: 1, after=lambda *_: notes.append(1), outermost=True)
        outer = region.wrap(lambda: inner(), after=lambda *_: notes.append(2), outermost=True)
        assert outer() == 1
        assert notes == [2]
        assert tree.figures()["env.step"]["calls"] == 1

    def test_always_notes_inner_calls_too(self, tree: Tree) -> None:
        notes: list[int] = []
        region = tree.core.region("import")
        inner = region.wrap(
            lambda: 1, after=lambda *_: notes.append(1), outermost=True, always=True
        )
        region.wrap(lambda: inner(), outermost=True)()
        assert notes == [1]

    def test_many_arguments(self, tree: Tree) -> None:
        seen: list[int] = []
        timed = tree.core.region("f").wrap(
            lambda *a, **k: len(a) + len(k), after=lambda r, *a, **k: seen.append(len(a) + len(k))
        )
        assert timed(*range(40), **{f"k{i}": i for i in range(20)}) == 60
        assert seen == [60]


@native_only
class TestGaps:
    """Code without marked ends: it ends with whatever comes next."""

    def test_a_gap_that_nobody_claims_is_its_parents(self, tree: Tree, clock: Any) -> None:
        with tree.core.profile("learn"):
            tree.core.region("learn.loss").gap()
            clock.pass_ns(30)
            with tree.core.profile("learn.backward"):
                clock.pass_ns(10)
        figures = tree.figures()
        assert figures["learn"]["self"] == 30
        assert "learn/learn.loss" not in figures

    def test_a_gap_that_is_claimed_gets_its_time(self, tree: Tree, clock: Any) -> None:
        loss = tree.core.region("learn.loss")
        with tree.core.profile("learn"):
            loss.gap()
            clock.pass_ns(30)
            with tree.core.profile("learn.backward"):
                clock.pass_ns(10)
            tree.core.claim_gap(loss)
        figures = tree.figures()
        assert (figures["learn/learn.loss"]["self"], figures["learn/learn.loss"]["calls"]) == (
            30,
            1,
        )
        assert (figures["learn"]["self"], figures["learn"]["elapsed"]) == (0, 40)

    def test_a_gap_is_no_call_of_a_region_that_a_window_before_called(
        self, tree: Tree, clock: Any
    ) -> None:
        act = tree.core.region("policy.act")
        with tree.core.profile("collect"):
            with act:
                clock.pass_ns(10)
            assert tree.figures()["collect/policy.act"]["calls"] == 1
            act.gap()
            clock.pass_ns(30)
            tree.core.end_gap()
            tree.core.claim_gap(act)
            later = tree.figures()["collect/policy.act"]
        assert (later["self"], later["calls"]) == (30, 0)

    def test_a_gap_ends_with_the_region_around_it(self, tree: Tree, clock: Any) -> None:
        with tree.core.profile("learn"):
            tree.core.region("learn.loss").gap()
            clock.pass_ns(30)
        clock.pass_ns(100)
        assert tree.figures()["learn"]["elapsed"] == 30
        assert tree.core.unmatched == 0

    def test_a_gap_is_not_open_for_others(self, tree: Tree) -> None:
        tree.core.region("learn.loss").gap()
        assert not tree.core.is_open("learn.loss")
        tree.core.end_gap()


def test_a_core_in_a_cycle_is_freed(region_clock: ModuleType) -> None:
    import weakref

    class Holder:
        pass

    holder = Holder()
    core = region_clock.Core(describe=lambda name, _=holder: 0)
    core.enable()
    with core.profile("a"):
        pass
    gone = weakref.ref(holder)
    del core, holder
    gc.collect()
    assert gone() is None
