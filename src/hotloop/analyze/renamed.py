"""Renames phases of a process once samples or other phases show what they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import hypot

from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.growing import Shard
from hotloop.capture.window import PhaseDelta, Samples, Window, add_device
from hotloop.phases import is_of_thread


def renamed(shard: Shard, phase: str, name: str) -> Shard:
    """The shard with this phase of its main thread under another name."""

    def path_of(path: str) -> str:
        if phase not in path or is_of_thread(path):
            return path
        return "/".join(name if part == phase else part for part in path.split("/"))

    errors_s: dict[str, float] = {}
    for path, error in shard.errors_s.items():
        errors_s[path_of(path)] = hypot(errors_s.get(path_of(path), 0.0), error)
    windows = [with_paths(window, path_of) for window in shard.windows]
    return replace(shard, windows=windows, errors_s=errors_s)


def with_paths(window: Window, path_of: Callable[[str], str]) -> Window:
    """The window with all that it has by path under other paths; what then has the same joins."""
    phases: dict[str, PhaseDelta] = {}
    for path, delta in window.phases.items():
        phases.setdefault(path_of(path), PhaseDelta()).add(delta)
    samples: Samples = {}
    for (path, stack, mode), (count, ns) in window.samples.items():
        sums = samples.setdefault((path_of(path), stack, mode), [0, 0])
        sums[0] += count
        sums[1] += ns
    device: dict[str, DeviceDelta] = {}
    device_parts: dict[str, DeviceDelta] = {}
    for into, of in ((device, window.device), (device_parts, window.device_parts)):
        for path, work in of.items():
            add_device(into, {path_of(path): work})
    return replace(window, phases=phases, samples=samples, device=device, device_parts=device_parts)
