"""Findings of tree search."""

from __future__ import annotations

from analyses import Make, ids, phase

from hotloop.diagnose.search import one_leaf_per_pass


def test_one_position_per_forward_pass_is_found(make: Make) -> None:
    network = phase("search.network", 4, calls=1000)
    assert ids(one_leaf_per_pass(make(network, search_leaves=1000))) == ["one-leaf-per-pass"]
    assert one_leaf_per_pass(make(network, search_leaves=8000)) == []
    rare = phase("search.network", 0.5, calls=1000)
    assert one_leaf_per_pass(make(rare, search_leaves=1000)) == []
