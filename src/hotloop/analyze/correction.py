"""Adds up windows and removes the cost of regions from their times.

An empty region costs `inner_ns` between its two clock readings and `outer_ns` around them. So the
own time of a node shrinks by the inner overhead of its calls, the own time of its parent by their
outer overhead, and every total above by both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hotloop.capture.values import RegionCost
from hotloop.capture.window import PhaseDelta, Window
from hotloop.phases import is_of_thread


def add_up(windows: Iterable[Window]) -> dict[str, PhaseDelta]:
    """Every node with its sums over all these windows."""
    totals: dict[str, PhaseDelta] = {}
    for window in windows:
        for path, delta in window.phases.items():
            totals.setdefault(path, PhaseDelta()).add(delta)
    # A node whose parent is missing (a damaged value) still needs one.
    for path in list(totals):
        while path := path.rpartition("/")[0]:
            totals.setdefault(path, PhaseDelta())
    return totals


@dataclass
class Corrected:
    """The times of one node in seconds, without its cost."""

    self_s: float
    total_s: float
    cost_s: float


def correct(totals: dict[str, PhaseDelta], cost: RegionCost) -> dict[str, Corrected]:
    """The times of every node without the cost of measuring them."""
    corrected: dict[str, Corrected] = {}
    outside: dict[str, float] = {}
    below: dict[str, float] = {}
    # From the leaves up: deeper nodes have more slashes, and the root comes last.
    for path in sorted(totals, key=lambda p: -p.count("/") if p else 1):
        delta = totals[path]
        inside = delta.calls * cost.inner_ns
        self_ns = delta.self_ns - inside - outside.get(path, 0.0)
        total_ns = delta.elapsed_ns - inside - below.get(path, 0.0)
        corrected[path] = Corrected(
            max(self_ns, 0.0) / 1e9,
            max(total_ns, 0.0) / 1e9,
            delta.calls * cost.total_ns / 1e9,
        )
        if not is_root(path):
            parent = path.rpartition("/")[0]
            outside[parent] = outside.get(parent, 0.0) + delta.calls * cost.outer_ns
            below[parent] = (
                below.get(parent, 0.0) + delta.calls * cost.total_ns + below.get(path, 0.0)
            )
    return corrected


def is_root(path: str) -> bool:
    return path == "" or (is_of_thread(path) and "/" not in path)
