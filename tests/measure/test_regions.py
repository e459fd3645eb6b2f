"""Both region clocks: what every combination of entering and leaving comes to."""

from __future__ import annotations

import gc
from types import ModuleType
from typing import Any

import pytest
from region_trees import Tree

from hotloop.histogram import quantile
from hotloop.phases import flags_of


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


def test_a_region_needs_a_name(tree: Tree) -> None:
    with pytest.raises(TypeError, match="string"):
        tree.core.profile(3)


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
