"""Gradients that DDP reduces inside the backward pass, as a phase of their own.

That happens in native code, where no region can be: the capture has DDP's own figure for the time
that backward passes waited (`schema.BACKWARD_COMM_S`), which is moved here from `learn.backward` to
a `comm` inside it.
"""

from __future__ import annotations

from dataclasses import replace

from hotloop.capture import schema
from hotloop.capture.reader import Shard
from hotloop.capture.window import PhaseDelta, Window

BACKWARD, COMM = "learn.backward", "comm"

#: Every pass also computes gradients. DDP's figure is extrapolated from some iterations, and on a
#: busy machine it may exceed the time of all passes. What is left for computing is an assumption.
MOST_OF_A_PASS = 0.95


def separate_reductions(shard: Shard) -> Shard:
    """The shard with the reductions inside its backward passes as `comm`.

    DDP times one iteration in several, each of which stands for those around it and may be far
    longer than its own window's share: only the sum over the run is right.
    """
    waited_s = sum(window.counters.get(schema.BACKWARD_COMM_S, 0.0) for window in shard.windows)
    whole = sum(delta.self_ns for window in shard.windows for delta in _passes(window).values())
    if waited_s <= 0 or not whole:
        return shard
    share = min(waited_s * 1e9 / whole, MOST_OF_A_PASS)
    return replace(shard, windows=[_separated(window, share) for window in shard.windows])


def _passes(window: Window) -> dict[str, PhaseDelta]:
    return {
        path: delta
        for path, delta in window.phases.items()
        if path.rpartition("/")[2] == BACKWARD and not path.startswith("@thread-")
    }


def _separated(window: Window, share: float) -> Window:
    phases = dict(window.phases)
    for path, delta in _passes(window).items():
        moved = round(share * delta.self_ns)
        phases[path] = replace(delta, self_ns=delta.self_ns - moved)
        phases[f"{path}/{COMM}"] = PhaseDelta(delta.calls, moved, moved)
    return replace(window, phases=phases)
