"""From a capture to an analysis: combines all parts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hotloop.analyze.bounds import Bound, bounds
from hotloop.analyze.critical import add_critical_path
from hotloop.analyze.device_use import add_memory, device_use
from hotloop.analyze.model import (
    Analysis,
    Function,
    Overhead,
    Phase,
    Process,
    Sample,
    of_main_thread,
)
from hotloop.analyze.one_time_work import find_once
from hotloop.analyze.over_time.gauges import largest, megabytes, total_s
from hotloop.analyze.over_time.returns import find_returns
from hotloop.analyze.over_time.series import own_cost_s
from hotloop.analyze.over_time.trends import find_trends
from hotloop.analyze.processes.awaited_threads import THREAD
from hotloop.analyze.processes.run_table import add_lines, run_table
from hotloop.analyze.processes.workers import busy_ns
from hotloop.analyze.run import Run
from hotloop.analyze.samples.functions import (
    add_states,
    find_functions,
    find_samples,
    find_thread_functions,
)
from hotloop.analyze.samples.states import states_by_path
from hotloop.analyze.score import add_score
from hotloop.analyze.timeline import Timeline, offset_s, split_timeline
from hotloop.analyze.tree import build_phases
from hotloop.capture import schema
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.schema import (
    ENV_STEPS,
    EPISODES,
    GRADIENT_STEPS,
    SAMPLES,
    SEQUENCES,
    Notes,
)
from hotloop.capture.values import RegionCost
from hotloop.capture.window import Window
from hotloop.phases import PARENTS, is_unidentified, name_at


def analyze(capture: Capture) -> Analysis:
    """The analysis of a capture, without hotloop's own cost."""
    main = capture.main
    timeline = split_timeline(main.windows)
    loop = _main_loop(main, timeline)
    processes = [_ProcessLoop("main", main, timeline.loop), *map(_loop_of, capture.shards[1:])]
    phases = [*loop.phases, *(p for each in processes[1:] for p in _phases_of(each, loop.loop_s))]
    states = states_by_path(timeline.loop)
    add_states(loop.phases, states)
    _finish_phases(phases, main)
    _add_errors(loop.phases, main, loop.loop_s)
    use = device_use(timeline.loop, phases, main.notes, loop.loop_s)
    add_critical_path(phases, use, loop.loop_s)
    own = of_main_thread(phases)
    bound, whole = bounds(own, use, loop.outside_s, states, has_workers=len(processes) > 1)
    functions = [f for each in processes for f in each.functions(loop.loop_s)]
    table = run_table(capture, timeline.loop, phases, loop.loop_s)
    threads = find_thread_functions(timeline.loop, main, "main", loop.loop_s)
    add_lines(table, [*functions, *(replace(each, process=THREAD) for each in threads)])
    unknown_s, parents_s = _without_a_name(own)
    once = find_once(timeline.loop, loop.loop_s)
    return Analysis(
        name=capture.folder.name or "run",
        run=_run(capture, timeline, loop.loop_s, sum(each.seconds for each in once)),
        overhead=_overhead(main, loop, timeline),
        coverage=_share(loop.named_s - unknown_s, loop.loop_s),
        unexplained=_share(
            max(loop.loop_s - loop.named_s, 0.0) + unknown_s + parents_s, loop.loop_s
        ),
        outside_s=loop.outside_s,
        phases=phases,
        startup=_apart(timeline.startup, main),
        after=_apart(timeline.after, main),
        functions=functions,
        thread_functions=threads,
        exact_functions=main.notes.exact_functions,
        processes=[_process(each) for each in processes],
        loop_windows=timeline.loop,
        notes=main.notes,
        damaged=capture.damaged,
        damaged_values=capture.damaged_values,
        samples=[sample for each in processes for sample in each.samples()],
        startup_samples=find_samples(timeline.startup, main, "main"),
        trends=find_trends(timeline.loop),
        returns=find_returns(capture, timeline.loop),
        device=use,
        once=once,
        bounds=bound,
        bound=whole,
        process_bounds=_process_bounds(processes[1:], phases),
        run_table=table,
        proof=capture.proof,
        worker_notes={shard.role: shard.notes for shard in capture.shards[1:]},
    )


@dataclass(frozen=True)
class _MainLoop:
    """The loop of the process that trains, with and without hotloop's own cost."""

    phases: list[Phase]
    #: As in the windows, hotloop's part of it, and the rest.
    raw_s: float
    cost_s: float
    loop_s: float
    #: In phases of the main thread, and in none.
    named_s: float
    outside_s: float


def _main_loop(main: Shard, timeline: Timeline) -> _MainLoop:
    raw_s = timeline.loop_s
    phases, outside_s, regions_s = build_phases(
        timeline.loop, _cost_of(main), "main", raw_s, main.notes
    )
    cost_s = regions_s + sum(own_cost_s(window) for window in timeline.loop)
    # In a loop of milliseconds the cost may exceed the whole: its phases stay.
    named_s = sum(p.self_s for p in phases if p.thread == "main")
    loop_s = max(raw_s - cost_s, min(named_s, raw_s), 0.0)
    for phase in phases:
        phase.share = phase.total_s / loop_s if loop_s > 0 else 0.0
    return _MainLoop(phases, raw_s, cost_s, loop_s, named_s, outside_s)


def _without_a_name(own: list[Phase]) -> tuple[float, float]:
    """Seconds of unidentified code, and of parents' work outside their phases."""
    unknown_s = sum(p.self_s for p in own if is_unidentified(p.name))
    parents = (p for p in own if p.name in PARENTS and not _is_opaque_update(p, own))
    return unknown_s, sum(p.self_s for p in parents)


@dataclass(frozen=True)
class _ProcessLoop:
    """One process in its training loop."""

    process: str
    shard: Shard
    windows: list[Window]

    def functions(self, loop_s: float) -> list[Function]:
        return find_functions(self.windows, self.shard, self.process, loop_s)

    def samples(self) -> list[Sample]:
        return find_samples(self.windows, self.shard, self.process)


def _loop_of(shard: Shard) -> _ProcessLoop:
    return _ProcessLoop(shard.role, shard, split_timeline(shard.windows).loop)


def _process_bounds(loops: list[_ProcessLoop], phases: list[Phase]) -> dict[str, Bound]:
    found: dict[str, Bound] = {}
    for loop in loops:
        own = of_main_thread(phases, loop.process)
        in_phases_s = sum(phase.self_s for phase in own)
        outside_s = max(sum(window.seconds for window in loop.windows) - in_phases_s, 0.0)
        whole = bounds(own, None, outside_s, states_by_path(loop.windows))[1]
        if whole is not None:
            found[loop.process] = whole
    return found


def _is_opaque_update(phase: Phase, phases: list[Phase]) -> bool:
    """Whether this is an update in which no phase was ever seen, such as one of a table."""
    inside = f"{phase.path}/"
    return phase.name == "learn" and not any(each.path.startswith(inside) for each in phases)


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def _cost_of(shard: Shard) -> RegionCost:
    return shard.header.cost or RegionCost()


def _apart(windows: list[Window], shard: Shard) -> list[Phase]:
    seconds = sum(window.seconds for window in windows)
    return build_phases(windows, _cost_of(shard), "main", seconds, shard.notes)[0]


def _phases_of(loop: _ProcessLoop, loop_s: float) -> list[Phase]:
    cost, notes = _cost_of(loop.shard), loop.shard.notes
    phases, _, _ = build_phases(loop.windows, cost, loop.process, loop_s, notes)
    add_states(phases, states_by_path(loop.windows))
    return phases


def _finish_phases(phases: list[Phase], main: Shard) -> None:
    own = [phase for phase in phases if phase.process == "main"]
    for phase in own:
        if peaks := main.notes.memory_peaks.get(phase.name):
            phase.cpu_peak_mb, phase.cpu_added_mb = peaks[0] / 1e6, peaks[1] / 1e6
        peak = main.notes.gpu_memory_peaks.get(phase.name)
        if peak is not None:
            phase.gpu_peak_mb = peak / 1e6
    add_memory(own, main.notes)
    for phase in phases:
        phase.how = main.notes.recognised.get(phase.name, phase.how)
        add_score(phase)


def _add_errors(phases: list[Phase], main: Shard, loop_s: float) -> None:
    for phase in phases if loop_s > 0 and main.errors_s else ():
        phase.share_error = main.errors_s.get(phase.path, 0.0) / loop_s


def _overhead(
    main: Shard,
    loop: _MainLoop,
    timeline: Timeline,
) -> Overhead:
    cost = _cost_of(main)
    regions = sum(delta.calls for window in main.windows for delta in window.phases.values())
    return Overhead(
        region_ns=cost.total_ns,
        regions=regions,
        share=_share(loop.cost_s, loop.raw_s),
        corrected=cost.total_ns > 0,
        sampler_s=total_s(timeline.loop, schema.SAMPLER_NS),
        recorder_s=total_s(timeline.loop, schema.RECORDER_NS),
        hooks_s=total_s(timeline.loop, schema.HOOKS_NS),
        device_s=total_s(timeline.loop, schema.DEVICE_NS),
        measured=1 - _share(main.rested_s, loop.raw_s),
    )


def _run(capture: Capture, timeline: Timeline, loop_s: float, once_s: float) -> Run:
    main = capture.main
    # A process that trains for another began after it, and may end before it.
    later_s = max(offset_s(main, capture.launcher), 0.0)
    wall_s = max(timeline.end_ns / 1e9 + later_s, _end_s(capture.launcher))
    return Run(
        command=main.header.command,
        wall_s=wall_s,
        startup_s=(timeline.loop_begin_ns / 1e9 + later_s) if timeline.found_loop else 0.0,
        loop_s=loop_s,
        after_s=max(wall_s - later_s - timeline.loop_end_ns / 1e9, 0.0),
        counters=_counters(capture),
        device=main.notes.device or _device_in_use(main.notes),
        processes=len(capture.shards),
        header=main.header,
        end=capture.launcher.end,
        memory_peak_mb=megabytes(largest(main.windows, schema.RESIDENT_PEAK)),
        cpu_share=_cpu_share(timeline),
        once_s=min(once_s, loop_s),
    )


def _end_s(shard: Shard) -> float:
    return shard.windows[-1].end_ns / 1e9 if shard.windows else 0.0


#: torch's name for each kind of device.
_DEVICES = {"CUDA": "cuda", "ROCm": "cuda", "MPS": "mps"}


def _device_in_use(notes: Notes) -> str:
    """The device of a program without recorded networks: the one it held memory on."""
    return _DEVICES.get(notes.gpu.name, "cpu") if notes.gpu else "cpu"


#: Counters that each process of a run counts for itself.
_SHARED = (ENV_STEPS, EPISODES, GRADIENT_STEPS, SAMPLES, SEQUENCES)


def _counters(capture: Capture) -> dict[str, float]:
    """The main process's counters; those that are zero there are summed over its workers."""
    counters, shards = _counted(capture.main), capture.shards[1:]
    beside = capture.main.notes.trains_beside
    if beside:  # the main one is one of several that train
        shards = [capture.main, *(shard for shard in shards if shard.role in beside)]
        counters = {name: n for name, n in counters.items() if name not in _SHARED}
    for name in _SHARED:
        workers = [shard for shard in shards if _counted(shard).get(name)]
        if workers and not counters.get(name):
            amounts = [_counted(shard)[name] for shard in workers]
            # Ranks make each gradient step together; others, such as A3C's workers, their own.
            in_step = max(amounts) - min(amounts) <= 1 and all(map(_communicates, workers))
            together = name == GRADIENT_STEPS and in_step
            counters[name] = max(amounts) if together else sum(amounts)
    return counters


def _communicates(shard: Shard) -> bool:
    """Whether a process has collectives with others."""
    return any(name_at(path) == "comm" for w in shard.windows for path in w.phases)


def _counted(shard: Shard) -> dict[str, float]:
    counters: dict[str, float] = {}
    for window in shard.windows:
        for name, amount in window.counters.items():
            counters[name] = counters.get(name, 0) + amount
    return counters


def _cpu_share(timeline: Timeline) -> float | None:
    if not any(schema.PROCESS_CPU_NS in window.gauges for window in timeline.loop):
        return None
    wall_s = sum(window.seconds for window in timeline.loop)
    return total_s(timeline.loop, schema.PROCESS_CPU_NS) / wall_s if wall_s > 0 else None


def _exit_code(shard: Shard) -> int | None:
    code = shard.end.code if shard.end is not None else None
    return code if isinstance(code, int) else None


def _process(loop: _ProcessLoop) -> Process:
    shard = loop.shard
    first = shard.windows[0].begin_ns if shard.windows else 0
    last = shard.windows[-1].end_ns if shard.windows else 0
    return Process(
        name=shard.role,
        pid=shard.header.pid,
        host=shard.header.host,
        wall_s=(last - first) / 1e9,
        busy_s=sum(map(busy_ns, shard.windows)) / 1e9,
        memory_peak_mb=megabytes(largest(shard.windows, schema.RESIDENT_PEAK)),
        ended=shard.end is not None,
        exit_code=_exit_code(shard),
        cpu_s=total_s(loop.windows, schema.PROCESS_CPU_NS),
    )
