"""Gradients that DDP reduces inside the backward pass, as a phase of their own.

DDP reduces gradients in native code, where no region can be placed. The capture has DDP's own
figures for how long backward passes computed and waited; the waiting is moved from `learn.backward`
to a `comm` inside it.

DDP times one pass in a hundred. On the CPU, the system's clocks measure all of them: time in which
the main thread neither ran nor was ready to run is waiting, and waiting that belongs to no other
phase belongs to the reductions. With one thread per operation, there is nothing else to wait for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from hotloop.analyze.samples.states import BLOCKED
from hotloop.capture import schema
from hotloop.capture.reader import Shard
from hotloop.capture.window import PhaseDelta, Window
from hotloop.phases import is_of_thread, name_at

BACKWARD, COMM = "learn.backward", "comm"

#: Every pass also computes gradients. DDP's figures are extrapolated from some iterations, and on a
#: busy machine waiting may exceed the time of all passes. What is left is an assumption.
MOST_OF_A_PASS = 0.95

#: Passes that the clocks must have seen: what other phases wait is known by samples, of 10 ms each.
LEAST_PASSES_S = 0.3


def separate_reductions(shard: Shard) -> Shard:
    """The shard with the reductions inside its backward passes as `comm`."""
    whole = sum(_passes_ns(window) for window in shard.windows)
    waited_s = _estimated_s(shard, whole)
    if waited_s <= 0 or not whole:
        return shard
    blocked = list(_blocked_shares(shard))
    known = [
        (_passes_ns(w), b) for w, b in zip(shard.windows, blocked, strict=True) if b is not None
    ]
    passes = sum(ns for ns, _ in known)
    # DDP times one iteration in several: only the sum over the run is right.
    if passes < LEAST_PASSES_S * 1e9:
        shares = [waited_s * 1e9 / whole] * len(blocked)
    else:
        typical = sum(ns * b for ns, b in known) / passes
        shares = [typical if b is None else b for b in blocked]
    windows = [
        _separated(window, min(share, MOST_OF_A_PASS))
        for window, share in zip(shard.windows, shares, strict=True)
    ]
    return replace(shard, windows=windows)


def _estimated_s(shard: Shard, whole_ns: int) -> float:
    """How long passes waited, by the iterations that DDP timed."""
    waited_s = _sum(shard, schema.BACKWARD_COMM_S)
    if computing_s := _sum(shard, schema.DDP_BACKWARD_S):
        # What is longer than computing waits, and so does what DDP has seen waiting.
        waited_s = max(waited_s, whole_ns / 1e9 - max(computing_s - _loss_s(shard), 0.0))
    return waited_s


def _blocked_shares(shard: Shard) -> Iterator[float | None]:
    """The part of each window's passes that waited, by the system's clocks; None if not known."""
    yield None  # the clocks of the first window say nothing about the time before
    for before, window in pairwise(shard.windows):
        one_thread = window.gauges.get(schema.TORCH_THREADS) == 1 and shard.notes.gpu is None
        passes = _passes_ns(window)
        if not one_thread or not passes or schema.MAIN_CPU_S not in before.gauges:
            yield None
            continue
        ready = sum(
            window.gauges.get(name, 0.0) - before.gauges.get(name, 0.0)
            for name in (schema.MAIN_CPU_S, schema.MAIN_DELAY_S)
        )
        blocked_ns = (window.seconds - ready) * 1e9 - _blocked_elsewhere_ns(window)
        yield min(max(blocked_ns / passes, 0.0), 1.0)


def _blocked_elsewhere_ns(window: Window) -> float:
    """How long the main thread waited in other phases, by their samples."""
    whole: dict[str, int] = {}
    blocked: dict[str, int] = {}
    for (path, _, mode), (_, ns) in window.samples.items():
        whole[path] = whole.get(path, 0) + ns
        blocked[path] = blocked.get(path, 0) + ns * (mode in BLOCKED)
    passes = _passes(window)
    return sum(
        delta.self_ns * (blocked[path] / whole[path])
        for path, delta in window.phases.items()
        if path not in passes and not is_of_thread(path) and whole.get(path)
    )


def _passes_ns(window: Window) -> int:
    return sum(delta.self_ns for delta in _passes(window).values())


def _sum(shard: Shard, counter: str) -> float:
    return sum(window.counters.get(counter, 0.0) for window in shard.windows)


def _loss_s(shard: Shard) -> float:
    return sum(
        delta.self_ns / 1e9
        for window in shard.windows
        for path, delta in window.phases.items()
        if name_at(path) == "learn.loss"
    )


def _passes(window: Window) -> dict[str, PhaseDelta]:
    return {
        path: delta
        for path, delta in window.phases.items()
        if name_at(path) == BACKWARD and not is_of_thread(path)
    }


def _separated(window: Window, share: float) -> Window:
    phases = dict(window.phases)
    for path, delta in _passes(window).items():
        moved = round(share * delta.self_ns)
        phases[path] = replace(delta, self_ns=delta.self_ns - moved)
        phases[f"{path}/{COMM}"] = PhaseDelta(delta.calls, moved, moved)
    return replace(window, phases=phases)
