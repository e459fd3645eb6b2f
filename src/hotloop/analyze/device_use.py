"""Device work of each phase: recorded from time to time, scaled to the whole loop.

Recording slows the host down, so its host times are not the run's. What is scaled is therefore
device work *per call*: a phase's kernel time in the recorded calls, times its calls in the
loop. Of phases whose calls are longer than a recording only parts were seen; they are scaled by
their own time, corrected by how much slower recorded calls were on the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hotloop.analyze.model import Analysis, Phase, of_main_thread
from hotloop.analyze.over_time.gauges import largest, last, mean, megabytes, total_s
from hotloop.capture import schema
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.schema import Notes
from hotloop.capture.window import Window, add_device
from hotloop.phases import names_of

#: Fewer recorded calls than this say little: such figures are marked.
FEW_CALLS = 20
#: A phase is known once this many calls, or this many calls' worth of its time, were recorded.
ENOUGH_CALLS, ENOUGH_TIME = 1, 1.0
#: Whole calls that take less than this part of the phase's mean call are the short ones among calls
#: of several kinds. Recording makes calls longer, never shorter.
LIKE_OTHERS = 0.5
#: Kernel time is a share of the loop, or of some phases, only if this much of their time is known.
ENOUGH_KNOWN = 0.75
#: Drivers report how busy a card was in whole percent: 0 may be a little less than this.
LEAST_BUSY = 0.01
#: Phases that launch nothing, so that nothing is missing where none was recorded: waiting for other
#: processes, and imports, during which no recording begins.
NOTHING_TO_RECORD = frozenset({"import", "wait"})


@dataclass
class PhaseDevice:
    """One phase's own device work in the whole loop (what it launched itself, not its children)."""

    path: str
    #: Host time of the phase itself, and what share of it was recorded.
    host_s: float
    recorded_share: float
    recorded_calls: int
    #: Whether enough of it was recorded.
    known: bool
    kernel_s: float
    kernels: float
    launches: float
    launch_s: float
    syncs: float
    sync_s: float
    to_device: float
    to_device_bytes: float
    to_device_s: float
    to_host: float
    to_host_bytes: float
    to_host_s: float
    on_device_bytes: float
    on_device_s: float
    #: Shares of the phase's own host time.
    launching: float
    waiting: float
    moving: float
    #: Host time, anywhere in the loop, spent waiting for the kernels launched here.
    awaited_s: float = 0.0
    #: Copies of host memory that is not pinned; kernels of float32 matrix products without TF32.
    pageable_bytes: float = 0.0
    pageable_s: float = 0.0
    float32_s: float = 0.0


@dataclass
class Idle:
    """Shares of the loop's time that add up to one: computing, or why not."""

    computing: float
    host_late: float
    queue: float
    copying: float


@dataclass
class CardFigures:
    """The card as its driver reported it over the loop; None is unknown."""

    busy: float | None = None
    memory_mb: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None


@dataclass
class DeviceUse:
    """What is known of the accelerator that a run used."""

    kind: str
    card: str
    mode: str
    #: Recordings; the name is that of the JSON report.
    stretches: int = 0
    recorded_s: float = 0.0
    spent_s: float = 0.0
    #: Share of the loop in phases of which enough was recorded.
    known: float = 0.0
    #: Kernel time of the loop, scaled, and as a share of it; None where too little was recorded.
    kernel_s: float | None = None
    kernel_share: float | None = None
    launches: float | None = None
    syncs: float | None = None
    idle: Idle | None = None
    phases: list[PhaseDevice] = field(default_factory=list)
    figures: CardFigures = field(default_factory=CardFigures)
    allocated_mb: float | None = None
    reserved_mb: float | None = None
    #: Allocated memory that one minute of training adds, from the first to the last quarter.
    growth_mb_per_minute: float | None = None
    remarks: list[str] = field(default_factory=list)


def device_use(
    windows: list[Window], phases: list[Phase], notes: Notes, loop_s: float
) -> DeviceUse | None:
    """Everything a capture has about the device; None without one."""
    gpu = notes.gpu
    if gpu is None:
        return None
    use = DeviceUse(kind=gpu.name, card=gpu.card, mode=gpu.mode, remarks=list(gpu.remarks))
    use.stretches = int(last(windows, schema.GPU_STRETCHES) or 0)
    use.recorded_s = last(windows, schema.GPU_RECORDED_S) or 0.0
    use.spent_s = last(windows, schema.GPU_SPENT_S) or 0.0
    _add_card(use, windows)
    whole, parts = recorded_in(windows)
    if whole or parts:
        _add_recorded(use, whole, parts, phases, loop_s)
    elif not use.remarks:
        use.remarks.append("The loop was too short for a recording of the device.")
    return use


def recorded_in(
    windows: Iterable[Window],
) -> tuple[dict[str, DeviceDelta], dict[str, DeviceDelta]]:
    """Place -> what was recorded of it in all these windows: whole calls, and parts of calls."""
    whole: dict[str, DeviceDelta] = {}
    parts: dict[str, DeviceDelta] = {}
    for window in windows:
        add_device(whole, window.device)
        add_device(parts, window.device_parts)
    return whole, parts


def _add_recorded(
    use: DeviceUse,
    whole: dict[str, DeviceDelta],
    parts: dict[str, DeviceDelta],
    phases: list[Phase],
    loop_s: float,
) -> None:
    own = {phase.path: phase for phase in of_main_thread(phases)}
    slower = slowdown(whole, own)
    rest = max(loop_s - sum(phase.self_s for phase in own.values()), 0.0)
    # What whole calls say of a phase is better than what parts say; parts are all that there is of
    # calls longer than a recording, and of the time in no phase.
    for path in {**parts, **whole}:
        phase = own.get(path)
        if phase is None and path:
            continue  # a phase outside of the loop
        delta = _best_of(whole.get(path), parts.get(path), phase)
        seconds, calls = (phase.self_s, phase.calls) if phase else (rest, 0)
        use.phases.append(_scaled(path, delta, seconds, calls, slower))
    _fit_to_card(use, loop_s)
    use.phases.sort(key=lambda each: (-each.kernel_s, -each.host_s))
    for phase in own.values():
        inside = [p for p in use.phases if (p.path + "/").startswith(phase.path + "/")]
        if inside or _launches_nothing(phase.path):
            phase.device_s = sum(each.kernel_s for each in inside)
    idle = {path for path in own if _launches_nothing(path)}
    known_s = sum(own[path].self_s for path in idle)
    known_s += sum(each.host_s for each in use.phases if each.known and each.path not in idle)
    use.known = min(known_s / loop_s, 1.0) if loop_s > 0 else 0.0
    if use.known < ENOUGH_KNOWN:
        use.remarks.append(
            f"Recordings cover enough of phases that are {use.known:.0%} of the loop only: the "
            "loop's kernel time is unknown. A longer run or --gpu full records more."
        )
        return
    use.kernel_s = sum(each.kernel_s for each in use.phases)
    use.kernel_share = min(use.kernel_s / loop_s, 1.0) if loop_s > 0 else None
    use.launches = sum(each.launches for each in use.phases)
    use.syncs = sum(each.syncs for each in use.phases)
    use.idle = _idle([*whole.values(), *parts.values()], use.kernel_share or 0.0)


def _fit_to_card(use: DeviceUse, loop_s: float) -> None:
    """Kernels of phases of which only parts were recorded take at most what the card was busy.

    A part is scaled by host time, which says little where the host waits for a full queue now and
    runs ahead the next moment. How busy the card was, by its driver, holds for the whole loop.
    """
    busy = 1.0 if use.figures.busy is None else max(use.figures.busy, LEAST_BUSY)
    most = loop_s * busy
    parts = [each for each in use.phases if not each.recorded_calls]
    in_parts = sum(each.kernel_s for each in parts)
    whole = sum(each.kernel_s for each in use.phases) - in_parts
    if not in_parts or whole + in_parts <= most:
        return
    # Where whole calls alone take longer than the card was busy, parts are as wrong as they are.
    fit = (most - whole) / in_parts if whole < most else most / (whole + in_parts)
    for each in parts:
        each.kernel_s *= fit


def _launches_nothing(path: str) -> bool:
    return not NOTHING_TO_RECORD.isdisjoint(names_of(path))


def _best_of(
    whole: DeviceDelta | None, parts: DeviceDelta | None, phase: Phase | None
) -> DeviceDelta:
    """Whole calls of a phase where they are like its other calls; all that was recorded if not.

    A phase may have short and long calls (`zero_grad` and `step`); a recording that is shorter than
    the long ones holds only parts of them.
    """
    if whole is None or parts is None:
        return whole or parts or DeviceDelta()
    if phase is None or _is_like_others(whole, phase):
        return whole
    both = DeviceDelta()
    both.add(whole)
    both.add(parts)
    both.millicalls = 0  # scaled by time
    return both


def _is_like_others(whole: DeviceDelta, phase: Phase) -> bool:
    """Whether the calls that were recorded whole take as long as the phase's calls do."""
    if not phase.calls or not whole.millicalls:
        return True
    recorded_s = whole.host_ns / 1e6 / whole.millicalls
    return recorded_s >= LIKE_OTHERS * phase.self_s / phase.calls


def slowdown(whole: dict[str, DeviceDelta], phases: dict[str, Phase]) -> float:
    """How many times longer calls took while they were recorded."""
    slow = plain = 0.0
    for path, delta in whole.items():
        phase = phases.get(path)
        if phase is None or not _is_like_others(delta, phase):
            continue
        if phase.calls and delta.millicalls:
            slow += delta.host_ns / 1e9
            plain += delta.millicalls / 1e3 * phase.self_s / phase.calls
    return slow / plain if plain > 0 and slow > 0 else 1.0


def _scaled(path: str, delta: DeviceDelta, host_s: float, calls: int, slower: float) -> PhaseDevice:
    """Scale the recording of a phase to the whole loop by `factor`."""
    host, recorded = delta.host_ns / 1e9, delta.millicalls / 1e3
    factor = calls / recorded if recorded else 0.0
    if not factor and host > 0:
        factor = host_s * slower / host
    share = 1 / delta.host_ns if delta.host_ns else 0.0
    in_copies = delta.waited_ns - delta.blocked_ns
    moving = max(delta.copy_call_ns + delta.sync_ns - in_copies, 0)
    seen = recorded if recorded else (host * calls / host_s if host_s > 0 else 0.0)
    return PhaseDevice(
        path=path,
        host_s=host_s,
        recorded_share=min(1 / factor, 1.0) if factor > 0 else 0.0,
        recorded_calls=round(recorded),
        known=seen >= (ENOUGH_CALLS if recorded else ENOUGH_TIME),
        kernel_s=factor * delta.kernel_ns / 1e9,
        kernels=factor * delta.kernels,
        launches=factor * delta.launches,
        launch_s=factor * delta.launch_ns / 1e9,
        syncs=factor * delta.syncs,
        sync_s=factor * delta.sync_ns / 1e9,
        to_device=factor * delta.to_device,
        to_device_bytes=factor * delta.to_device_bytes,
        to_device_s=factor * delta.to_device_ns / 1e9,
        to_host=factor * delta.to_host,
        to_host_bytes=factor * delta.to_host_bytes,
        to_host_s=factor * delta.to_host_ns / 1e9,
        on_device_bytes=factor * delta.on_device_bytes,
        on_device_s=factor * delta.on_device_ns / 1e9,
        launching=min(delta.launch_ns * share, 1.0),
        waiting=min(delta.waited_ns * share, 1.0),
        moving=min(moving * share, 1.0),
        awaited_s=factor * delta.awaited_ns / 1e9,
        pageable_bytes=factor * delta.pageable_bytes,
        pageable_s=factor * delta.pageable_ns / 1e9,
        float32_s=factor * delta.float32_ns / 1e9,
    )


def _idle(recorded: list[DeviceDelta], computing: float) -> Idle:
    """The loop's time in which no kernel ran, shared out as in the recordings."""
    late = sum(each.late_ns for each in recorded)
    queue = sum(each.queue_ns for each in recorded)
    copying = sum(each.copy_ns for each in recorded)
    whole = late + queue + copying
    left = max(1 - computing, 0.0)
    if whole <= 0:
        return Idle(computing, left, 0.0, 0.0)
    return Idle(computing, left * late / whole, left * queue / whole, left * copying / whole)


# -- the card --


def _add_card(use: DeviceUse, windows: list[Window]) -> None:
    known = [w for w in windows if schema.GPU_BUSY_NS in w.gauges and w.seconds > 0]
    seconds = sum(window.seconds for window in known)
    if seconds > 0:
        use.figures.busy = min(total_s(known, schema.GPU_BUSY_NS) / seconds, 1.0)
    use.figures.memory_mb = megabytes(largest(windows, schema.GPU_MEMORY))
    use.figures.power_w = mean(windows, schema.GPU_POWER_W)
    use.figures.clock_mhz = mean(windows, schema.GPU_CLOCK_MHZ)
    use.allocated_mb = megabytes(largest(windows, schema.GPU_ALLOCATED))
    use.reserved_mb = megabytes(largest(windows, schema.GPU_RESERVED))
    use.growth_mb_per_minute = _growth(windows)


#: Minimum number of windows to judge a growth.
FEWEST_WINDOWS = 8


def _growth(windows: list[Window]) -> float | None:
    """From the least that was held in the first quarter to the least in the last.

    Memory rises and falls within a step; a leak raises its minimum.
    """
    known = [w for w in windows if schema.GPU_ALLOCATED_LOW in w.gauges]
    if len(known) < FEWEST_WINDOWS:
        return None
    quarter = len(known) // 4
    first, last = known[:quarter], known[-quarter:]
    minutes = (last[0].begin_ns - first[0].begin_ns) / 60e9
    if minutes <= 0:
        return None
    least = [min(w.gauges[schema.GPU_ALLOCATED_LOW] for w in part) for part in (first, last)]
    return (least[1] - least[0]) / 1e6 / minutes


def add_memory(phases: list[Phase], notes: Notes) -> None:
    """Give phases without an exact memory peak the sampled one, children included."""
    for phase in phases:
        seen = [
            row
            for path, row in notes.gpu_sampled_peaks.items()
            if path == phase.path or path.startswith(phase.path + "/")
        ]
        if seen and phase.process == "main":
            if phase.gpu_peak_mb is None:
                phase.gpu_peak_mb = max(row[0] for row in seen) / 1e6
            phase.gpu_reserved_mb = max(row[1] for row in seen) / 1e6


def kernel_seconds(analysis: Analysis, *names: str) -> float | None:
    """Kernel time launched under phases of these names; None where too little was recorded."""
    found = _under(analysis, names)
    return sum(each.kernel_s for each in found) if found is not None else None


def launches_in(analysis: Analysis, *names: str) -> float | None:
    """Launches under phases of these names; None where too little was recorded."""
    found = _under(analysis, names)
    return sum(each.launches for each in found) if found is not None else None


def _under(analysis: Analysis, names: tuple[str, ...]) -> list[PhaseDevice] | None:
    """What was recorded under these phases, if that is enough of them: the rest may be unknown."""
    use = analysis.device
    if use is None:
        return None
    wanted = set(names)
    found = [each for each in use.phases if wanted & set(names_of(each.path))]
    if use.kernel_s is None:
        own = of_main_thread(analysis.phases)
        whole = sum(p.self_s for p in own if wanted & set(names_of(p.path)))
        if sum(each.host_s for each in found if each.known) < ENOUGH_KNOWN * whole:
            return None
    return found
