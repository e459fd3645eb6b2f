"""From a capture to an analysis: the one place where the parts come together."""

from __future__ import annotations

from typing import Any

from hotloop.analyze.bounds import bounds
from hotloop.analyze.course import offset_s
from hotloop.analyze.device import add_memory, device_use
from hotloop.analyze.functions import add_modes, find_functions, find_samples
from hotloop.analyze.model import Analysis, Overhead, Phase, Process, Run, Sample
from hotloop.analyze.score import add_score
from hotloop.analyze.timeline import Timeline, split_timeline
from hotloop.analyze.tree import RegionCost, build_phases
from hotloop.analyze.trends import find_trends
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.training import TRAINS_BESIDE
from hotloop.capture.window import Window
from hotloop.words import ENV_STEPS, EPISODES, GRADIENT_STEPS, PARENTS, SAMPLES


def analyze(capture: Capture) -> Analysis:
    """All that a capture says, hotloop's own cost taken out."""
    main = capture.main
    cost = _cost_of(main)
    timeline = split_timeline(main.windows)
    raw_loop_s = timeline.loop_s
    phases, outside_s, cost_s = build_phases(timeline.loop, cost, "main", raw_loop_s, main.notes)
    sampler_s = _gauge_sum(timeline.loop, "sampler_ns")
    # What hooks took between regions is in no region, so it is only taken out of the whole.
    cost_s += _gauge_sum(timeline.loop, "hooks_ns")
    # What watching the device took stood in the program's way, wherever it was.
    cost_s += _gauge_sum(timeline.loop, "device_ns")
    # Of a loop of milliseconds, what is taken out may be more than what it was: its phases stay.
    named_s = sum(p.self_s for p in phases if p.thread == "main")
    loop_s = max(raw_loop_s - cost_s - sampler_s, min(named_s, raw_loop_s), 0.0)
    for phase in phases:
        phase.share = phase.total_s / loop_s if loop_s > 0 else 0.0
    for shard in capture.shards[1:]:
        phases += _other_process(shard, loop_s)
    _finish_phases(phases, main, timeline.loop)
    use = device_use(timeline.loop, phases, main.notes, loop_s)
    bound, whole = bounds(phases, use, outside_s)
    own = [p for p in phases if p.process == "main" and p.thread == "main"]
    parents_s = sum(p.self_s for p in own if p.name in PARENTS)
    return Analysis(
        name=capture.folder.name or "run",
        run=_run(capture, timeline, loop_s),
        overhead=_overhead(main, cost, timeline, cost_s, sampler_s, raw_loop_s),
        coverage=_share(named_s, loop_s),
        unexplained=_share(max(loop_s - named_s, 0.0) + parents_s, loop_s),
        outside_s=outside_s,
        phases=phases,
        startup=_apart(timeline.startup, cost, main),
        after=_apart(timeline.after, cost, main),
        functions=find_functions(timeline.loop, main.stacks, "main", loop_s),
        exact_functions=_rows(main.notes.get("exact_functions")),
        processes=[_process(shard) for shard in capture.shards],
        loop_windows=timeline.loop,
        notes=main.notes,
        damaged=capture.damaged,
        samples=_samples(capture, timeline),
        startup_samples=find_samples(timeline.startup, main.stacks, "main"),
        trends=find_trends(timeline.loop),
        device=use,
        bounds=bound,
        bound=whole,
        worker_notes={shard.role: shard.notes for shard in capture.shards[1:]},
    )


def _samples(capture: Capture, timeline: Timeline) -> list[Sample]:
    samples = find_samples(timeline.loop, capture.main.stacks, "main")
    for shard in capture.shards[1:]:
        samples += find_samples(split_timeline(shard.windows).loop, shard.stacks, shard.role)
    return samples


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def _cost_of(shard: Shard) -> RegionCost:
    cost = shard.header.get("cost")
    if not isinstance(cost, dict):
        return RegionCost()
    inside, outside = cost.get("inside_ns"), cost.get("outside_ns")
    if not isinstance(inside, (int, float)) or not isinstance(outside, (int, float)):
        return RegionCost()
    # A damaged header must not turn every figure to zero: no region costs a millisecond.
    return RegionCost(min(max(inside, 0.0), 1e6), min(max(outside, 0.0), 1e6))


def _gauge_sum(windows: list[Window], name: str) -> float:
    return sum(window.gauges.get(name, 0.0) for window in windows) / 1e9


def _gauge_peak(windows: list[Window], name: str) -> float | None:
    values = [window.gauges[name] for window in windows if name in window.gauges]
    return max(values) / 1e6 if values else None


def _apart(windows: list[Window], cost: RegionCost, shard: Shard) -> list[Phase]:
    seconds = sum(window.seconds for window in windows)
    return build_phases(windows, cost, "main", seconds, shard.notes)[0]


def _other_process(shard: Shard, loop_s: float) -> list[Phase]:
    windows = split_timeline(shard.windows).loop
    phases, _, _ = build_phases(windows, _cost_of(shard), shard.role, loop_s, shard.notes)
    add_modes(phases, windows)
    return phases


def _finish_phases(phases: list[Phase], main: Shard, loop: list[Window]) -> None:
    own = [phase for phase in phases if phase.process == "main"]
    add_modes(own, loop)
    exact = main.notes.get("memory_peaks")
    gpu = main.notes.get("gpu_memory_peaks")
    for phase in own:
        peaks = exact.get(phase.name) if isinstance(exact, dict) else None
        if isinstance(peaks, list) and len(peaks) == 2 and all(_is_number(p) for p in peaks):
            phase.cpu_peak_mb, phase.cpu_added_mb = peaks[0] / 1e6, peaks[1] / 1e6
        peak = gpu.get(phase.name) if isinstance(gpu, dict) else None
        if isinstance(peak, (int, float)):
            phase.gpu_peak_mb = peak / 1e6
    add_memory(own, main.notes)
    how = main.notes.get("recognised")
    for phase in phases:
        if isinstance(how, dict) and isinstance(how.get(phase.name), str):
            phase.how = how[phase.name]
        add_score(phase)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _overhead(
    main: Shard,
    cost: RegionCost,
    timeline: Timeline,
    cost_s: float,
    sampler_s: float,
    raw_loop_s: float,
) -> Overhead:
    regions = sum(delta.calls for window in main.windows for delta in window.phases.values())
    return Overhead(
        region_ns=cost.total_ns,
        regions=regions,
        share=_share(cost_s + sampler_s, raw_loop_s),
        corrected=cost.total_ns > 0,
        sampler_s=sampler_s,
        recorder_s=_gauge_sum(timeline.loop, "recorder_ns"),
        hooks_s=_gauge_sum(timeline.loop, "hooks_ns"),
    )


def _run(capture: Capture, timeline: Timeline, loop_s: float) -> Run:
    main = capture.main
    command = main.header.get("command")
    device = main.notes.get("device")
    # A process that trains for another began after it, and may end before it.
    later_s = max(offset_s(main, capture.launcher), 0.0)
    wall_s = max(timeline.end_ns / 1e9 + later_s, _end_s(capture.launcher))
    return Run(
        command=[str(part) for part in command] if isinstance(command, list) else [],
        wall_s=wall_s,
        startup_s=(timeline.loop_begin_ns / 1e9 + later_s) if timeline.found_loop else 0.0,
        loop_s=loop_s,
        after_s=max(wall_s - later_s - timeline.loop_end_ns / 1e9, 0.0),
        counters=_counters(capture),
        device=device if isinstance(device, str) else _device_in_use(main.notes),
        processes=len(capture.shards),
        header=main.header,
        end=capture.launcher.end,
        memory_peak_mb=_gauge_peak(main.windows, "resident_peak"),
        cpu_share=_cpu_share(timeline),
    )


def _end_s(shard: Shard) -> float:
    return shard.windows[-1].end_ns / 1e9 if shard.windows else 0.0


#: What torch calls a device of each kind.
_DEVICES = {"CUDA": "cuda", "ROCm": "cuda", "MPS": "mps"}


def _device_in_use(notes: dict[str, Any]) -> str:
    """The device of a program whose networks nobody saw: what it held memory on."""
    about = notes.get("gpu")
    kind = about.get("name") if isinstance(about, dict) else None
    return _DEVICES.get(kind, "cpu") if isinstance(kind, str) else "cpu"


#: What processes of a run count each for themselves.
_SHARED = (ENV_STEPS, EPISODES, GRADIENT_STEPS, SAMPLES)


def _counters(capture: Capture) -> dict[str, float]:
    """What the main process counted; what it counted none of, its workers have done."""
    counters = _counted(capture.main)
    workers = [_counted(shard) for shard in capture.shards[1:]]
    beside = capture.main.notes.get(TRAINS_BESIDE)
    if isinstance(beside, list) and beside:  # the main one is one of several that train
        workers = [counters, *(_counted(s) for s in capture.shards[1:] if s.role in beside)]
        counters = {name: n for name, n in counters.items() if name not in _SHARED}
    for name in _SHARED:
        amounts = [worker[name] for worker in workers if worker.get(name)]
        if amounts and not counters.get(name):
            # Learners that work in step make each gradient step together; others their own.
            together = name == GRADIENT_STEPS and max(amounts) - min(amounts) <= 1
            counters[name] = max(amounts) if together else sum(amounts)
    return counters


def _counted(shard: Shard) -> dict[str, float]:
    counters: dict[str, float] = {}
    for window in shard.windows:
        for name, amount in window.counters.items():
            counters[name] = counters.get(name, 0) + amount
    return counters


def _cpu_share(timeline: Timeline) -> float | None:
    if not any("process_cpu_ns" in window.gauges for window in timeline.loop):
        return None
    wall_s = sum(window.seconds for window in timeline.loop)
    return _gauge_sum(timeline.loop, "process_cpu_ns") / wall_s if wall_s > 0 else None


def _process(shard: Shard) -> Process:
    first = shard.windows[0].begin_ns if shard.windows else 0
    last = shard.windows[-1].end_ns if shard.windows else 0
    busy = sum(
        delta.self_ns
        for window in shard.windows
        for path, delta in window.phases.items()
        if path and path.rpartition("/")[2] != "wait" and not path.startswith("@thread")
    )
    pid = shard.header.get("pid")
    return Process(
        name=shard.role,
        pid=pid if type(pid) is int else 0,
        wall_s=(last - first) / 1e9,
        busy_s=busy / 1e9,
        memory_peak_mb=_gauge_peak(shard.windows, "resident_peak"),
        ended=shard.end is not None,
    )


def _rows(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [row for row in value if isinstance(row, dict)]
