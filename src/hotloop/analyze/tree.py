"""The tree of phases, from windows."""

from __future__ import annotations

from hotloop.analyze.correction import Corrected, add_up, correct, is_root
from hotloop.analyze.model import Phase
from hotloop.capture.schema import Notes
from hotloop.capture.values import RegionCost
from hotloop.capture.window import PhaseDelta, Window
from hotloop.histogram import quantile
from hotloop.phases import category_of, is_of_thread, name_at, names_of


def build_phases(
    windows: list[Window],
    cost: RegionCost,
    process: str,
    whole_s: float,
    notes: Notes,
) -> tuple[list[Phase], float, float]:
    """(phases in the order of their tree, seconds in no phase, seconds that regions cost)."""
    totals = add_up(windows)
    corrected = correct(totals, cost)
    phases = [
        _phase(path, totals[path], corrected[path], cost, process, whole_s, notes)
        for path in totals
        if path and not is_root(path) and not _is_idle_thread(path, totals)
    ]
    cost_s = sum(corrected[p].cost_s for p in totals if not is_of_thread(p))
    outside_s = corrected[""].self_s if "" in corrected else 0.0
    return _tree_order(phases), outside_s, cost_s


def _is_idle_thread(path: str, totals: dict[str, PhaseDelta]) -> bool:
    """Whether a path is of a thread that does nothing but wait: a logger's queue, a timer."""
    if not is_of_thread(path):
        return False
    thread = path.partition("/")[0]
    return all(
        name_at(each) == "wait"
        for each in totals
        if each.startswith(thread + "/") and (totals[each].calls or totals[each].self_ns)
    )


def _phase(
    path: str,
    delta: PhaseDelta,
    corrected: Corrected,
    cost: RegionCost,
    process: str,
    whole_s: float,
    notes: Notes,
) -> Phase:
    names = names_of(path)
    thread = "main"
    if is_of_thread(path):
        thread = names.pop(0)[1:]
    name = names[-1]
    calls = delta.calls + round(delta.estimated_calls)

    def seconds(ns: float | None) -> float:
        return max((ns or 0.0) - cost.inner_ns, 0.0) / 1e9

    return Phase(
        path=path,
        name=name,
        category=notes.categories.get(name) or category_of(name),
        process=process,
        thread=thread,
        depth=len(names) - 1,
        calls=calls,
        total_s=corrected.total_s,
        self_s=corrected.self_s,
        share=corrected.total_s / whole_s if whole_s > 0 else 0.0,
        mean_s=corrected.total_s / calls if calls else 0.0,
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
