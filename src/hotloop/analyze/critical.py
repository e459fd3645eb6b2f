"""The critical path: whether the loop waited for host code or for a phase's kernels.

Launching is asynchronous. The host runs ahead until it asks for a result, copies, or fills the
launch queue, and then waits inside whichever call comes next. That call's phase gets the host time;
the critical path gives it to the phase whose kernels were running.
"""

from __future__ import annotations

from collections.abc import Iterable

from hotloop.analyze.device_use import DeviceUse
from hotloop.analyze.model import Phase, of_main_thread


def add_critical_path(phases: Iterable[Phase], use: DeviceUse | None, loop_s: float) -> None:
    """Set `critical_s` and the share of each phase of the main thread, where kernels were recorded.

    Waiting only moves between phases: the critical seconds of all phases add up to their host
    seconds.
    """
    if use is None or use.kernel_s is None or loop_s <= 0:
        return
    own = of_main_thread(phases)
    recorded = {each.path: each for each in use.phases}
    waited = {p.path: p.self_s * recorded[p.path].waiting for p in own if p.path in recorded}
    awaited = sum(recorded[path].awaited_s for path in waited)
    if awaited <= 0:
        return
    # Kernels launched before a recording have no phase; those with a phase represent them.
    scale = sum(waited.values()) / awaited
    critical = {
        p.path: p.self_s
        - waited.get(p.path, 0.0)
        + (recorded[p.path].awaited_s * scale if p.path in recorded else 0.0)
        for p in own
    }
    for phase in own:
        below = phase.path + "/"
        phase.critical_self_s = critical[phase.path]
        phase.critical_s = phase.critical_self_s + sum(
            seconds for path, seconds in critical.items() if path.startswith(below)
        )
        phase.share = phase.critical_s / loop_s
