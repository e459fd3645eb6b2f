"""Adds windows up to a tree of phases and takes hotloop's own cost out of it.

An empty region costs `inside_ns` between its two clock readings and `outside_ns` around them. So a
place's own time shrinks by what its calls cost inside, its parent's own time by what they cost
outside, and every total above by both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hotloop.analyze.model import Phase
from hotloop.capture.window import PhaseDelta, Window
from hotloop.histogram import quantile
from hotloop.words import category_of, names_of


@dataclass(frozen=True)
class RegionCost:
    """What an empty region adds to itself and to what is around it, in nanoseconds."""

    inside_ns: float = 0.0
    outside_ns: float = 0.0

    @property
    def total_ns(self) -> float:
        return self.inside_ns + self.outside_ns


def add_up(windows: Iterable[Window]) -> dict[str, PhaseDelta]:
    """Every place with what happened there in all these windows."""
    totals: dict[str, PhaseDelta] = {}
    for window in windows:
        for path, delta in window.phases.items():
            totals.setdefault(path, PhaseDelta()).add(delta)
    # A place whose parent is missing (a damaged line) still needs one to stand under.
    for path in list(totals):
        while path := path.rpartition("/")[0]:
            totals.setdefault(path, PhaseDelta())
    return totals


@dataclass
class Corrected:
    """One place's times in seconds, its own cost taken out."""

    self_s: float
    total_s: float
    cost_s: float


def correct(totals: dict[str, PhaseDelta], cost: RegionCost) -> dict[str, Corrected]:
    """The times of every place without what measuring them cost."""
    corrected: dict[str, Corrected] = {}
    outside: dict[str, float] = {}
    below: dict[str, float] = {}
    # From the leaves up: what is deeper has more slashes.
    for path in sorted(totals, key=lambda p: -p.count("/")):
        delta = totals[path]
        inside = delta.calls * cost.inside_ns
        self_ns = delta.self_ns - inside - outside.get(path, 0.0)
        total_ns = delta.elapsed_ns - inside - below.get(path, 0.0)
        corrected[path] = Corrected(
            max(self_ns, 0.0) / 1e9,
            max(total_ns, 0.0) / 1e9,
            delta.calls * cost.total_ns / 1e9,
        )
        if not is_root(path):
            parent = path.rpartition("/")[0]
            outside[parent] = outside.get(parent, 0.0) + delta.calls * cost.outside_ns
            below[parent] = (
                below.get(parent, 0.0) + delta.calls * cost.total_ns + below.get(path, 0.0)
            )
    return corrected


def build_phases(
    windows: list[Window],
    cost: RegionCost,
    process: str,
    whole_s: float,
    notes: dict[str, object],
) -> tuple[list[Phase], float, float]:
    """(phases in the order of their tree, seconds in no phase, seconds that regions cost)."""
    totals = add_up(windows)
    corrected = correct(totals, cost)
    phases = [
        _phase(path, totals[path], corrected[path], cost, process, whole_s, notes)
        for path in totals
        if path and not is_root(path)
    ]
    cost_s = sum(corrected[p].cost_s for p in totals if not p.startswith("@thread"))
    outside_s = corrected[""].self_s if "" in corrected else 0.0
    return _tree_order(phases), outside_s, cost_s


def is_root(path: str) -> bool:
    return path == "" or (path.startswith("@thread-") and "/" not in path)


def _phase(
    path: str,
    delta: PhaseDelta,
    corrected: Corrected,
    cost: RegionCost,
    process: str,
    whole_s: float,
    notes: dict[str, object],
) -> Phase:
    names = names_of(path)
    thread = "main"
    if names[0].startswith("@thread-"):
        thread = names.pop(0)[1:]
    name = names[-1]
    categories = notes.get("categories")
    category = categories.get(name) if isinstance(categories, dict) else None

    def seconds(ns: float | None) -> float:
        return max((ns or 0.0) - cost.inside_ns, 0.0) / 1e9

    return Phase(
        path=path,
        name=name,
        category=category if isinstance(category, str) else category_of(name),
        process=process,
        thread=thread,
        depth=len(names) - 1,
        calls=delta.calls,
        total_s=corrected.total_s,
        self_s=corrected.self_s,
        share=corrected.total_s / whole_s if whole_s > 0 else 0.0,
        mean_s=corrected.total_s / delta.calls if delta.calls else 0.0,
        min_s=seconds(delta.min_ns),
        max_s=seconds(delta.max_ns),
        p50_s=lambda: seconds(quantile(delta.histogram, 0.50)),
        p95_s=lambda: seconds(quantile(delta.histogram, 0.95)),
        p99_s=lambda: seconds(quantile(delta.histogram, 0.99)),
        cpu_peak_mb=delta.resident_peak / 1e6 if delta.resident_peak else None,
    )


def _tree_order(phases: list[Phase]) -> list[Phase]:
    """Parents before their children, the largest first at every level."""
    children: dict[str, list[Phase]] = {}
    for phase in phases:
        parent = phase.parent
        children.setdefault("" if is_root(parent) else parent, []).append(phase)
    ordered: list[Phase] = []
    waiting = sorted(children.get("", []), key=lambda p: (p.thread != "main", -p.total_s))[::-1]
    while waiting:
        phase = waiting.pop()
        ordered.append(phase)
        waiting += sorted(children.get(phase.path, []), key=lambda p: p.total_s)
    return ordered
