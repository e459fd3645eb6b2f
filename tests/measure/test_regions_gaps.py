"""Gaps between regions, which only the native module has."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

import pytest
from region_trees import Tree

pytestmark = pytest.mark.parametrize("region_clock", ["native"], indirect=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
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


def test_a_gap_that_nobody_claims_is_its_parents(tree: Tree, clock: Any) -> None:
    with tree.core.profile("learn"):
        tree.core.region("learn.loss").gap()
        clock.pass_ns(30)
        with tree.core.profile("learn.backward"):
            clock.pass_ns(10)
    figures = tree.figures()
    assert figures["learn"]["self"] == 30
    assert "learn/learn.loss" not in figures


def test_a_gap_that_is_claimed_gets_its_time(tree: Tree, clock: Any) -> None:
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


def test_a_gap_is_no_call_of_a_region_that_a_window_before_called(tree: Tree, clock: Any) -> None:
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


def test_a_gap_ends_with_the_region_around_it(tree: Tree, clock: Any) -> None:
    with tree.core.profile("learn"):
        tree.core.region("learn.loss").gap()
        clock.pass_ns(30)
    clock.pass_ns(100)
    assert tree.figures()["learn"]["elapsed"] == 30
    assert tree.core.unmatched == 0


def test_a_gap_is_not_open_for_others(tree: Tree) -> None:
    tree.core.region("learn.loss").gap()
    assert not tree.core.is_open("learn.loss")
    tree.core.end_gap()
