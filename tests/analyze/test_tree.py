"""The region tree: parents first, largest first."""

from __future__ import annotations

from made_captures import delta, one_window


def test_the_tree_comes_parents_first_and_largest_first() -> None:
    analysis = one_window(
        {
            "b/x": delta(1, 1, 1),
            "a": delta(1, 1, 2),
            "b": delta(1, 1, 4),
            "b/y": delta(1, 2, 2),
            "a/z": delta(1, 1, 1),
        }
    )
    assert [p.path for p in analysis.phases] == ["b", "b/y", "b/x", "a", "a/z"]
    assert [p.depth for p in analysis.phases] == [0, 1, 1, 0, 1]


def test_a_place_without_its_parent_still_stands_somewhere() -> None:
    analysis = one_window({"lost/child": delta(1, 1, 1)})
    assert [p.path for p in analysis.phases] == ["lost", "lost/child"]


def test_a_thread_that_only_waits_is_left_out() -> None:
    analysis = one_window(
        {
            "learn": delta(1, 5, 5),
            "@thread-1/wait": delta(9, 9, 9),
            "@thread-2/wait": delta(9, 4, 4),
            "@thread-2/env.step": delta(9, 5, 5),
        }
    )
    assert {p.path for p in analysis.phases} == {"learn", "@thread-2/wait", "@thread-2/env.step"}
