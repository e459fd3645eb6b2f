"""Sums of windows, and times without the cost of the regions that measured them."""

from __future__ import annotations

from hotloop.analyze.correction import add_up, correct, is_root
from hotloop.capture.values import NO_COST, RegionCost
from hotloop.capture.window import PhaseDelta, Window


def window(number: int, **phases: PhaseDelta) -> Window:
    return Window(number, number, number, number + 1, phases)


def test_windows_add_up_node_by_node() -> None:
    total = add_up(
        [window(0, learn=PhaseDelta(2, 10, 20)), window(1, learn=PhaseDelta(1, 5, 5), log=PhaseDelta(1, 3, 3))]
    )  # fmt: skip
    assert (total["learn"].calls, total["learn"].self_ns, total["learn"].elapsed_ns) == (3, 15, 25)
    assert total["log"].calls == 1


def test_a_node_without_a_parent_gets_one() -> None:
    total = add_up([Window(0, 0, 0, 1, {"a/b/c": PhaseDelta(1, 1, 1)})])
    assert sorted(total) == ["a", "a/b", "a/b/c"]
    assert total["a"] == PhaseDelta()


def test_own_times_lose_the_inner_and_parents_the_outer_overhead() -> None:
    totals = {
        "": PhaseDelta(0, 1000, 0),
        "a": PhaseDelta(2, 600, 1000),
        "a/b": PhaseDelta(4, 400, 400),
    }
    found = correct(totals, RegionCost(inner_ns=10, outer_ns=5))
    # Inside: 4 calls at 10 ns. Around them, in the parent: 4 at 5 ns, and its own 2 at 10 ns.
    assert round(found["a/b"].self_s * 1e9) == 400 - 40
    assert round(found["a"].self_s * 1e9) == 600 - 20 - 20
    # A total loses both overheads of everything below it.
    assert round(found["a"].total_s * 1e9) == 1000 - 20 - 4 * 15
    assert round(found[""].self_s * 1e9) == 1000 - 2 * 5
    assert round(found["a/b"].cost_s * 1e9) == 4 * 15


def test_no_time_becomes_negative() -> None:
    found = correct({"a": PhaseDelta(100, 10, 10)}, RegionCost(50, 50))
    assert (found["a"].self_s, found["a"].total_s) == (0.0, 0.0)


def test_without_a_cost_times_stay() -> None:
    found = correct({"a": PhaseDelta(3, 500, 700)}, NO_COST)["a"]
    assert (round(found.self_s * 1e9), round(found.total_s * 1e9), found.cost_s) == (500, 700, 0.0)


def test_roots_are_the_main_thread_and_other_threads() -> None:
    assert is_root("")
    assert is_root("@thread-3")
    assert not is_root("learn")
    assert not is_root("@thread-3/learn")
