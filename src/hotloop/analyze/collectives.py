"""Gradients that DDP reduces inside the backward pass, as a phase of their own.

That happens in native code, where no region can be: the capture has DDP's own figures for how long
backward passes computed and how long they waited. The waiting is moved here from `learn.backward`
to a `comm` inside it.
"""

from __future__ import annotations

from dataclasses import replace

from hotloop.capture import schema
from hotloop.capture.reader import Shard
from hotloop.capture.window import PhaseDelta, Window
from hotloop.phases import is_of_thread, name_at

BACKWARD, COMM = "learn.backward", "comm"

#: Every pass also computes gradients. DDP's figures are extrapolated from some iterations, and on a
#: busy machine waiting may exceed the time of all passes. What is left is an assumption.
MOST_OF_A_PASS = 0.95


def separate_reductions(shard: Shard) -> Shard:
    """The shard with the reductions inside its backward passes as `comm`.

    DDP times one iteration in several: only the sum over the run is right.
    """
    whole = sum(delta.self_ns for window in shard.windows for delta in _passes(window).values())
    waited_s = _sum(shard, schema.BACKWARD_COMM_S)
    if computing_s := _sum(shard, schema.DDP_BACKWARD_S):
        # What is longer than computing waits, and so does what DDP has seen waiting.
        waited_s = max(waited_s, whole / 1e9 - max(computing_s - _loss_s(shard), 0.0))
    if waited_s <= 0 or not whole:
        return shard
    share = min(waited_s * 1e9 / whole, MOST_OF_A_PASS)
    return replace(shard, windows=[_separated(window, share) for window in shard.windows])


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
