"""Too many threads for the available cores."""

from __future__ import annotations

from math import ceil

from hotloop.analyze.model import Analysis, Phase
from hotloop.capture import schema
from hotloop.diagnose.busy_machine import keeps_cores_busy
from hotloop.diagnose.evidence import (
    callers,
    cores,
    finding,
    in_package,
    of_loop,
    phases_named,
    samples_under,
    use_of,
)
from hotloop.diagnose.finding import HIGH, LOW, MEDIUM, Finding, Rule
from hotloop.diagnose.proving import verify_command
from hotloop.diagnose.recorded import NETWORKS, at, gauge_rise, torch_threads
from hotloop.histogram import Histogram, add_into, quantile
from hotloop.phases import names_of

_QUOTA = (schema.THROTTLED_PERIODS, schema.QUOTA_PERIODS)

#: Below this share of the loop in networks their threads cannot matter.
NETWORKS_SHARE = 0.05
#: Seconds per second that threads waited for a CPU core: more than an idle machine's noise
#: (0.05) and than one other busy process on a few cores (measured: 0.26 with one thread).
WAITING_FOR_CORES = 0.3
#: The time with one thread must be this much less than the measured time.
EXCESS = 0.3
#: One thread's cost as estimated below was 0.7 to 1.5 times the measured one (2 cores, 2 to 32
#: threads, 1 to 4 processes).
ESTIMATE = (1.5, 0.7)


def thread_oversubscription(analysis: Analysis) -> list[Finding]:
    """Networks wait for their own threads, because there are more threads than cores."""
    threads, usable = torch_threads(analysis), _usable_cores(analysis)
    if threads is None or threads < 2 or usable is None or _is_held_back(analysis, threads):
        return []
    phases = phases_named(analysis, *NETWORKS)
    spent = sum(phase.total_s for phase in phases)
    if of_loop(analysis, spent) < NETWORKS_SHARE:
        return []
    processes = [threads, *_worker_threads(analysis)]
    delay = gauge_rise(analysis, schema.RUN_DELAY_S)
    delay_share = delay / analysis.run.loop_s if delay is not None and analysis.run.loop_s else None
    if sum(processes) <= usable:
        return _on_busy_cores(analysis, threads, usable)
    alone = sum(_one_thread_s(analysis, phase) for phase in _leaves(phases, analysis))
    alone *= _slowed_by_others(analysis)
    excess = spent - alone
    if excess < EXCESS * spent:
        return []
    # One thread each still shares the cores with the other processes.
    crowd = max(1.0, len(processes) / usable)
    low, high = (max(1 - part * alone * crowd / spent, 0.0) for part in ESTIMATE)
    others = f" in {len(processes)} processes" if len(processes) > 1 else ""
    return [
        finding(
            analysis,
            "thread-oversubscription",
            title=f"torch uses {threads} threads{others} on {usable:g} cores for operations "
            f"too small to split: {excess / spent:.0%} of the time in networks is "
            "waiting for threads",
            phase=max(phases, key=lambda phase: phase.total_s).name,
            seconds=spent,
            saves=(low, high),
            confidence=HIGH if (delay_share or 0.0) >= WAITING_FOR_CORES else MEDIUM,
            where=callers(analysis, *NETWORKS),
            evidence={
                "torch_threads": threads,
                "processes": len(processes),
                "cores": usable,
                "threads_waiting": delay_share,
                "one_thread_s": alone,
                "networks_s": spent,
            },
            fix="Every operation is split across all threads and waits for the slowest; when "
            "threads outnumber free cores, that one waits for a core. Use one thread per "
            "process for small networks, in the workers too.",
            # A program that uses more threads than cores has set the number itself and
            # ignores the variable.
            verify=verify_command(
                analysis,
                callers(analysis, *NETWORKS),
                "OMP_NUM_THREADS=1" if threads <= usable else "",
            ),
            before="import torch",
            after="import torch\ntorch.set_num_threads(1)   # or OMP_NUM_THREADS=1 before starting",
            learning="Summation order changes: results differ in the last digits.",
        )
    ]


def _slowed_by_others(analysis: Analysis) -> float:
    """How many times longer one thread takes because other programs use the cores."""
    if keeps_cores_busy(analysis) is not False:
        return 1.0  # the run's own threads do, and they would be gone
    rest, fast = _spent_and_fast(analysis, _single_threaded(analysis))
    return max(rest / fast, 1.0) if fast else 1.0


#: Network calls that other programs slow down this many times more than single-threaded code wait
#: for their own threads: each operation waits for the last of them to get a core.
SLOWED_MORE = 2.0
#: The fastest calls had all threads on free cores: one thread takes up to twice as long (2 cores).
BUSY_ESTIMATE = (2.0, 0.9)
#: Fewer calls of a phase say nothing about its fastest ones.
ENOUGH_CALLS = 50


def _on_busy_cores(analysis: Analysis, threads: int, usable: float) -> list[Finding]:
    """As many threads as cores, on cores that other programs use as well."""
    phases = phases_named(analysis, *NETWORKS)
    networks = _leaves(phases, analysis)
    spent, fast = _spent_and_fast(analysis, networks)
    rest, fast_rest = _spent_and_fast(analysis, _single_threaded(analysis))
    if not fast or not fast_rest:
        return []
    slowed, usual = spent / fast, max(rest / fast_rest, 1.0)
    delay = gauge_rise(analysis, schema.MAIN_DELAY_S) or 0.0
    if slowed < SLOWED_MORE * usual or of_loop(analysis, delay) < BUSY:
        return []
    # One thread is slowed down as all other code is.
    low, high = (max(1 - part * usual / slowed, 0.0) for part in BUSY_ESTIMATE)
    lines = callers(analysis, *NETWORKS)
    return [
        finding(
            analysis,
            "thread-oversubscription",
            title=f"torch uses {threads} threads on {usable:g} cores that other programs use too: "
            f"network calls are slowed down {slowed / usual:.0f} times more than other code",
            phase=max(phases, key=lambda phase: phase.total_s).name,
            seconds=spent,
            saves=(low, high),
            confidence=MEDIUM,
            where=lines,
            evidence={
                "torch_threads": threads,
                "cores": usable,
                "networks_s": spent,
                "networks_at_their_fastest_s": fast,
                "other_code_s": rest,
                "other_code_at_its_fastest_s": fast_rest,
                "waiting_for_cores": of_loop(analysis, delay),
            },
            fix="Every operation waits until each of its threads has had a core. While other "
            "programs keep the cores busy, one thread per process is faster, and on a "
            "quiet machine it costs small networks nothing. The command below tries it.",
            verify=verify_command(analysis, lines, "OMP_NUM_THREADS=1"),
            before="import torch",
            after="import torch\ntorch.set_num_threads(1)   # or OMP_NUM_THREADS=1 before starting",
            learning="Summation order changes: results differ in the last digits.",
        )
    ]


#: From this share of waiting for a core on, other programs are at work.
BUSY = 0.1


def _single_threaded(analysis: Analysis) -> list[Phase]:
    """Phases of the main thread that use no network, nor anything inside them."""
    return [
        phase
        for phase in analysis.phases_of.get("main", ())
        if phase.thread == "main"
        and phase.name not in ("wait", "transfer", "import", "data.wait", *NETWORKS)
        and not any(other.path.startswith(phase.path + "/") for other in analysis.phases)
        and not set(NETWORKS) & set(names_of(phase.path))
    ]


def _spent_and_fast(analysis: Analysis, phases: list[Phase]) -> tuple[float, float]:
    """(seconds of these phases, what they would take at the pace of their fastest calls)."""
    spent = fast = 0.0
    for phase in phases:
        each = fastest_s(analysis, phase) if phase.calls >= ENOUGH_CALLS else None
        if each is not None:
            spent += phase.self_s
            fast += each * phase.calls
    return spent, fast


def _usable_cores(analysis: Analysis) -> float | None:
    known = analysis.notes.machine.cores or cores(analysis)
    return known if known and known >= 1 else None


def _worker_threads(analysis: Analysis) -> list[int]:
    """torch threads of the other processes that use networks."""
    busy = {p.process for p in analysis.phases if p.process != "main" and p.name in NETWORKS}
    found = (torch_threads(analysis, name) for name in sorted(busy))
    return [threads for threads in found if threads is not None]


def _leaves(phases: list[Phase], analysis: Analysis) -> list[Phase]:
    """All nodes under these phases, so that each time is judged by its own calls."""
    paths = tuple(phase.path for phase in phases)
    return [
        phase
        for phase in analysis.phases
        if phase.process == "main"
        and phase.thread == "main"
        and any(phase.path == path or phase.path.startswith(path + "/") for path in paths)
    ]


def _one_thread_s(analysis: Analysis, phase: Phase) -> float:
    """The cost of a node with one thread: the lower of two upper bounds.

    The CPU time of the calling thread, which does its own share and all that is not shared
    (threads that spin add to it), and its fastest calls, which met free cores.
    """
    on_core = phase.self_s * (1 - (phase.waiting_share or 0.0))
    fast = fastest_s(analysis, phase)
    return min(on_core, fast * phase.calls) if fast is not None and phase.calls else on_core


#: The fastest twentieth of the calls met free cores, if any did.
FASTEST = 0.05


def fastest_s(analysis: Analysis, phase: Phase, windows: int | None = None) -> float | None:
    """Seconds of a fast call of a node that has no nodes inside; None if it has some.

    Of the whole loop, or of the first windows in which it was called.
    """
    if abs(phase.total_s - phase.self_s) > 0.01 * phase.total_s:
        return None
    counts: Histogram = {}
    called = [w.phases[phase.path] for w in analysis.loop_windows if phase.path in w.phases]
    for delta in called[:windows]:
        add_into(counts, delta.histogram)
    low = quantile(counts, FASTEST) if counts else None
    return low / 1e9 if low else None


# -- threads of NumPy's linear algebra --

#: Helper threads that use this part of the main thread's CPU time or more do half of the work, or
#: spin while they wait for it.
HELPERS_USE = 0.5
#: Linear algebra below this share of the loop is not what is slow.
ALGEBRA_SHARE = 0.3
#: One thread was 55 times faster for matrices of 24 rows on busy cores (OpenBLAS, 2 cores, one run
#: each); where matrices are large and cores free, two are faster. An estimate.
ONE_BLAS_THREAD_WINS = (0.5, 0.95)
_NUMPY = in_package("numpy", "scipy")


def threads_of_numpy(analysis: Analysis) -> list[Finding]:
    """NumPy's linear algebra waits for helper threads that wait for a core."""
    main = gauge_rise(analysis, schema.MAIN_CPU_S)
    every = sum(w.gauges.get(schema.PROCESS_CPU_NS, 0.0) for w in analysis.loop_windows) / 1e9
    waited = gauge_rise(analysis, schema.MAIN_DELAY_S) or 0.0
    waited_by_all = gauge_rise(analysis, schema.RUN_DELAY_S) or 0.0
    if not main or every - main < HELPERS_USE * main or phases_named(analysis, *NETWORKS):
        return []
    # Helpers that find a core at once do not hold anything up.
    if of_loop(analysis, waited) < BUSY or waited_by_all - waited < HELPERS_USE * waited:
        return []
    use = use_of(samples_under(analysis), _NUMPY)
    if of_loop(analysis, use.seconds) < ALGEBRA_SHARE:
        return []
    lines = use.where(1)
    return [
        finding(
            analysis,
            "thread-oversubscription",
            title=f"NumPy's linear algebra{at(lines)} uses several threads, which waited for a CPU "
            f"core {of_loop(analysis, waited):.0%} of the time: these calls are "
            f"{of_loop(analysis, use.seconds):.0%} of the loop",
            phase="",
            seconds=use.seconds,
            saves=ONE_BLAS_THREAD_WINS,
            confidence=LOW,
            where=lines,
            evidence={
                "main_cpu_s": main,
                "helpers_cpu_s": every - main,
                "main_waited_for_cores_s": waited,
                "helpers_waited_for_cores_s": waited_by_all - waited,
            },
            fix="Each call is split across threads and waits until every one of them has had a "
            "core. For small matrices, or while other programs use the cores, one thread is "
            "faster. Set OPENBLAS_NUM_THREADS=1 or OMP_NUM_THREADS=1 (MKL_NUM_THREADS=1 for MKL) "
            "before NumPy is imported. The command below tries it.",
            verify=verify_command(analysis, lines, "OMP_NUM_THREADS=1"),
            before="import numpy as np",
            after='import os\nos.environ["OMP_NUM_THREADS"] = "1"      # before NumPy is imported\n'
            "import numpy as np",
            learning="Summation order changes: results differ in the last digits.",
        )
    ]


# -- containers --

#: Throttled in this share of the periods, a run is limited by its container.
THROTTLED_SHARE = 0.05
#: The part of the stalls that goes away with as many threads as the limit has cores.
QUOTA_WINS = (0.6, 1.0)


def cpu_quota(analysis: Analysis) -> list[Finding]:
    """A container's limit is below the number of threads, and the system stops them all."""
    threads = torch_threads(analysis)
    quota = analysis.notes.machine.quota_cores
    held = gauge_rise(analysis, schema.THROTTLED_S)
    throttled, periods = (gauge_rise(analysis, name) for name in _QUOTA)
    if threads is None or quota is None or held is None or not throttled or not periods:
        return []
    if not _is_held_back(analysis, threads):
        return []
    # The system adds up the stalls of all cores: the run stalls for no longer than it runs.
    busy_cores = max(min(threads, cores(analysis) or threads), 1)
    stalled = min(held / busy_cores, analysis.run.loop_s * 0.99)
    if of_loop(analysis, stalled) < 0.01:
        return []
    phases = phases_named(analysis, *NETWORKS)
    fitting = max(ceil(quota), 1)
    seconds, low, high = stalled, *QUOTA_WINS
    wasted = _wasted_by_threads(analysis)
    if wasted is not None:
        seconds, low, high = sum(phase.total_s for phase in phases), *wasted
    return [
        finding(
            analysis,
            "cpu-quota",
            title=f"The container may use {quota:g} cores, but torch uses {threads} threads: "
            f"it was throttled in {throttled / periods:.0%} of the scheduling periods",
            phase=max(phases, key=lambda phase: phase.total_s).name if phases else "",
            seconds=seconds,
            saves=(low, high),
            confidence=MEDIUM,
            evidence={
                "quota_cores": quota,
                "torch_threads": threads,
                "throttled_s": held,
                "throttled_periods": throttled,
                "periods": periods,
            },
            fix=f"Libraries count the host's cores, not the container's. Give torch "
            f"{fitting} thread{'s' if fitting > 1 else ''}, or give the container more CPU time. "
            "NumPy, OpenCV and environment workers count the same way.",
            before="import torch",
            after=f"import torch\ntorch.set_num_threads({fitting})",
            learning="Summation order changes: results differ in the last digits.",
        )
    ]


#: One thread needs more than the main thread needed beside the others, and less than all of them
#: together, which spin while they wait (measured: 4.5 s where these were 2.4 and 7.8).
ONE_THREAD_NEEDS = (0.75, 1.3)


def _wasted_by_threads(analysis: Analysis) -> tuple[float, float] | None:
    """(least, most) part of the CPU time that one thread would not have used."""
    main = gauge_rise(analysis, schema.MAIN_CPU_S)
    every = sum(w.gauges.get(schema.PROCESS_CPU_NS, 0.0) for w in analysis.loop_windows) / 1e9
    if not main or not every or not phases_named(analysis, *NETWORKS):
        return None
    low, high = 1 - ONE_THREAD_NEEDS[0], 1 - min(ONE_THREAD_NEEDS[1] * main / every, 1.0)
    return (min(low, high), max(low, high)) if high > 0 else None


def _is_held_back(analysis: Analysis, threads: int) -> bool:
    """Whether the container's limit, rather than the number of cores, limits the threads."""
    quota = analysis.notes.machine.quota_cores
    usable = analysis.notes.machine.cores or cores(analysis) or float("inf")
    throttled, periods = (gauge_rise(analysis, name) for name in _QUOTA)
    if quota is None or not throttled or not periods or throttled / periods < THROTTLED_SHARE:
        return False
    return threads > ceil(quota) and quota < usable


RULES: tuple[Rule, ...] = (thread_oversubscription, threads_of_numpy, cpu_quota)
