"""Causes in automatic differentiation: unused graphs, checks left on, subnormal numbers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from hotloop import units
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.series import SeriesPoint
from hotloop.analyze.over_time.trends import Trend
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    STRAY_SAMPLES,
    callers,
    finding,
    gauge,
    in_package,
    of_loop,
    phases_named,
    samples_under,
    seconds_in,
    vector_size,
    where,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, Finding, Rule
from hotloop.diagnose.recorded import NETWORKS, at, counted, gauge_rise, lines_of
from hotloop.diagnose.rules.processes.cpu_threads import fastest_s

#: Rules of this family find nothing below this share of the loop.
SMALLEST_PART = 0.01

# -- anomaly mode --

#: In anomaly mode every operation of a forward pass records its Python stack, which samples
#: see; its other costs (the strings, the extra frames of the graph) are up to half as much
#: again.
STACKS_WIN = (0.9, 1.3)
#: Measured on small networks, a backward pass that looks for NaN after each operation takes 160 to
#: 322 microseconds where 90 to 110 would do.
ANOMALY_BACKWARD = (0.30, 0.72)
#: Below this share of the loop, it was on only to debug something.
ANOMALY_SHARE = 0.05
_STACKS = in_package("traceback", "linecache", "tokenize")


def anomaly_mode(analysis: Analysis) -> list[Finding]:
    """Autograd's anomaly detection was left on."""
    on_s = gauge_rise(analysis, schema.ANOMALY_S)
    if not on_s or of_loop(analysis, on_s) < ANOMALY_SHARE:
        return []
    forward = _stacks_s(analysis)
    backward = seconds_in(analysis, "learn.backward")
    seconds = forward + backward
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    low, high = (
        (forward * f + backward * b) / seconds
        for f, b in zip(STACKS_WIN, ANOMALY_BACKWARD, strict=True)
    )
    lines = lines_of(analysis, schema.CALL_ANOMALY_MODE)
    return [
        finding(
            analysis,
            "anomaly-mode",
            title=f"Autograd's anomaly detection is on{at(lines)}: every operation records its "
            f"call stack ({of_loop(analysis, forward):.0%} of the loop), and backward passes check "
            "for NaN",
            phase="learn.forward" if forward > backward else "learn.backward",
            seconds=seconds,
            saves=(low, high),
            confidence=HIGH,
            where=lines,
            evidence={"on_s": on_s, "forward_s": forward, "backward_s": backward},
            fix="Anomaly detection is for finding the operation that produced a NaN. Switch it "
            "off for training; to guard against NaN, check the loss now and then.",
            before="torch.autograd.set_detect_anomaly(True)",
            after="torch.autograd.set_detect_anomaly(args.debug)",
        )
    ]


def _stacks_s(analysis: Analysis) -> float:
    """Seconds of recording stacks that the program would have spent without hotloop.

    That takes as long as a stack is deep, and hotloop's frames are at the bottom of each.
    """
    own = gauge(analysis, schema.ANOMALY_OWN_FRAMES) or 0.0
    seconds = 0.0
    for sample in samples_under(analysis, *NETWORKS):
        depth = sum(not _STACKS(frame) for frame in sample.frames)
        if depth < len(sample.frames):
            seconds += sample.seconds * depth / (depth + own)
    return seconds


def _graph_share(analysis: Analysis) -> float:
    """The share of inspected acting calls that built a graph."""
    seen = counted(analysis, schema.ACTS_SEEN)
    return min(counted(analysis, schema.ACTS_WITH_GRAPH) / seen, 1.0) if seen else 0.0


# -- acting with a graph --

#: Inspected calls needed before "never used" means something.
ENOUGH_LOOKS = 5
#: A learning pass with batch size 1 looks like an act; up to this share of used graphs is chance.
MOST_USED = 0.1
#: Measured: `no_grad` takes 6% (256 wide, 64 rows) to 17% (64 wide, 1 row) off a small network's
#: call; many small operations, as in sampling from distributions, up to a quarter.
NO_GRAD_WINS = (0.06, 0.25)
#: With this few rows, nearly all of a call is torch's overhead.
FEW_ROWS = 8
FEW_ROWS_WIN = (0.10, 0.25)


#: After this many episodes without a gradient step, none is to be expected.
EPISODES_WITHOUT = 50


def missing_no_grad(analysis: Analysis) -> list[Finding]:
    """Graphs are built while acting, and backward passes use almost none of them."""
    watched = counted(analysis, schema.ACT_GRAPHS_WATCHED)
    used = counted(analysis, schema.ACT_GRAPHS_USED)
    if watched < ENOUGH_LOOKS or used > MOST_USED * watched:
        return []
    if _graph_share(analysis) < 0.5 or not _learns_by_now(analysis):
        return []
    seconds = seconds_in(analysis, "policy.act")
    if of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    low, high = FEW_ROWS_WIN if vector_size(analysis) <= FEW_ROWS else NO_GRAD_WINS
    lines = _acting(analysis, lines_of(analysis, schema.CALL_ACT_WITH_GRAPH))
    return [
        finding(
            analysis,
            "missing-no-grad",
            title=f"Actions are chosen with gradients enabled{at(lines)}: each call builds a "
            f"graph that {'hardly any' if used else 'no'} backward pass uses (policy.act is "
            f"{of_loop(analysis, seconds):.0%} of the loop)",
            phase="policy.act",
            seconds=seconds,
            saves=(low, high),
            confidence=MEDIUM,
            where=lines,
            evidence={"graphs_watched": watched, "graphs_used": used},
            fix="Choose actions without gradients: no graph is built, and no memory is held "
            "for it. `torch.inference_mode` is a little faster still.",
            before="action = policy(obs).argmax(-1)",
            after="with torch.no_grad():\n    action = policy(obs).argmax(-1)",
        )
    ]


def _learns_by_now(analysis: Analysis) -> bool:
    """Whether a graph that no backward pass has used yet is not going to be used.

    Where nothing learns by gradients, episodes go by without any use of it.
    """
    learns = counted(analysis, schema.GRADIENT_STEPS)
    return bool(learns) or analysis.run.episodes >= EPISODES_WITHOUT


def _acting(analysis: Analysis, lines: list[SourceLine]) -> list[SourceLine]:
    """The lines that act, without those of learning that a few calls were mistaken for."""
    seconds = {(line.file, line.line): 0.0 for line in lines}
    for sample in samples_under(analysis, "policy.act"):
        for place in {(frame.file, frame.line) for frame in sample.frames}:
            if place in seconds:
                seconds[place] += sample.seconds
    least = STRAY_SAMPLES * max(seconds.values(), default=0.0)
    return [line for line in lines if seconds[line.file, line.line] >= least]


# -- graphs kept --

#: The share of old graphs that are alive where a program keeps them; a healthy one has none.
ALIVE = 0.2
#: A backward pass that takes this many times longer at the end goes through more and more.
SLOWER = 1.3
#: Graphs that are alive are evidence of their own: beside them, a rise of this size in every one of
#: a few windows is no chance, in runs too short for a trend.
FAR_SLOWER, FEW_POINTS, UNLIKELY = 2.0, 4, 0.05
#: How much of the excess over the run's first updates goes away at least. At most all that is above
#: the fastest calls goes: the first window's had begun to grow.
GRAPH_WINS = 0.75


def graph_retained(analysis: Analysis) -> list[Finding]:
    """Graphs of earlier updates are kept, and backward passes or memory grow."""
    alive = gauge(analysis, schema.GRAPHS_ALIVE)
    trends = analysis.trends
    if alive is None or alive < ALIVE or trends is None:
        return []
    slower = trends.per_call.get("learn.backward")
    memory = trends.memory
    grows = memory is not None and memory.grows
    rising = slower is not None and _rises(slower)
    if not rising and not grows:
        return []
    excess = excess_s(analysis, "learn.backward") if rising else 0.0
    if rising and of_loop(analysis, excess) < SMALLEST_PART and not grows:
        return []
    seconds = max(excess, _beyond_fastest_s(analysis, "learn.backward")) if rising else 0.0
    added = (memory.last - memory.first) / 1e6 if memory is not None and grows else 0.0
    ratio = slower.ratio if slower is not None and rising else 1.0
    what = f"backward passes take {ratio:.1f} times longer at the end" if rising else ""
    more = f"memory has grown by {units.megabytes(added)}" if added >= 1 else ""
    lines = callers(analysis, "learn.backward")
    return [
        finding(
            analysis,
            "graph-retained",
            title=f"Graphs of earlier updates are kept{at(lines)}: "
            + " and ".join(part for part in (what, more) if part),
            phase="learn.backward",
            seconds=seconds,
            saves=(GRAPH_WINS * excess / seconds if seconds else 0.0, 1.0),
            confidence=HIGH if rising else MEDIUM,
            where=lines,
            evidence={"graphs_alive": alive, "backward_ratio": ratio, "memory_added_mb": added},
            fix="Something that outlives an update (a list of losses, a running sum, a "
            "recurrent state) still holds its graph, and every backward pass goes through "
            "all of it. Keep plain numbers, and detach states that are carried over.",
            before="losses.append(loss)\nhidden = new_hidden",
            after="losses.append(loss.item())\nhidden = new_hidden.detach()",
            learning="Gradients reach back through one update instead of the whole history: "
            "truncated backpropagation through time, which is nearly always what you "
            "want.",
        )
    ]


def _rises(trend: Trend) -> bool:
    if trend.grows:
        return trend.ratio >= SLOWER
    few = trend.points >= FEW_POINTS and trend.p <= UNLIKELY
    return few and trend.ratio >= FAR_SLOWER


def excess_s(analysis: Analysis, *names: str) -> float:
    """Time of these phases beyond what their calls would take at the pace of the beginning."""
    trends = analysis.trends
    total = 0.0
    for name in names:
        trend = trends.per_call.get(name) if trends else None
        if trends is None or trend is None:
            continue
        spent = sum(point.total.get(name, 0.0) for point in trends.learning)
        calls = sum(point.calls.get(name, 0) for point in trends.learning)
        total += max(spent - calls * _first_pace(analysis, name), 0.0)
    return total


def _first_pace(analysis: Analysis, name: str) -> float:
    """Seconds per call in the first part of the loop that learns."""
    trends = analysis.trends
    for point in trends.learning if trends else ():
        if point.calls.get(name):
            return _pace([point], name)
    return 0.0


def _pace(points: Sequence[SeriesPoint], name: str) -> float:
    """Seconds per call over these points; 0 without calls."""
    calls = sum(point.calls.get(name, 0) for point in points)
    return sum(point.total.get(name, 0.0) for point in points) / calls if calls else 0.0


def _beyond_fastest_s(analysis: Analysis, name: str) -> float:
    """Time of a phase beyond what its calls would take at the pace of its fastest ones."""
    phases = phases_named(analysis, name)
    fast = [(phase, fastest_s(analysis, phase)) for phase in phases]
    return sum(phase.total_s - phase.calls * each for phase, each in fast if each is not None)


# -- subnormal numbers --

#: The share of subnormal weights from which arithmetic on some CPUs is very slow.
SUBNORMAL_SHARE = 0.01
#: The part of the slowdown that flushing them to zero removes.
DENORMAL_WINS = (0.7, 1.0)


def denormals(analysis: Analysis) -> list[Finding]:
    """Weights have become subnormal, and networks have become slower with flat memory.

    Many CPUs compute with such numbers at full speed; so the numbers alone are no finding.
    """
    share = max(
        gauge(analysis, schema.SUBNORMALS) or 0.0, gauge(analysis, schema.SUBNORMAL_STATES) or 0.0
    )
    trends = analysis.trends
    if share < SUBNORMAL_SHARE or trends is None:
        return []
    slower = _slower(analysis)
    phases = list(slower)
    alive = gauge(analysis, schema.GRAPHS_ALIVE) or 0.0
    memory = trends.memory
    flat = memory is None or not memory.grows or memory.ratio < SLOWER
    seconds = excess_s(analysis, *phases)
    if not phases or alive >= ALIVE or not flat or of_loop(analysis, seconds) < SMALLEST_PART:
        return []
    return [
        finding(
            analysis,
            "denormals",
            title=f"{share:.0%} of the weights or optimizer states are subnormal numbers, and "
            f"{phases[0]} takes {slower[phases[0]]:.1f} times longer than at first",
            phase=phases[0],
            seconds=seconds,
            saves=DENORMAL_WINS,
            confidence=MEDIUM,
            where=where(analysis, *phases),
            evidence={"subnormal_share": share, "phases": phases},
            fix="Many CPUs compute numbers below 1.2e-38 on a slow path. Flush them to zero, "
            "once at the start of every process; a larger optimizer epsilon or less weight "
            "decay keeps them from appearing.",
            before="model = Policy()",
            after="torch.set_flush_denormal(True)\nmodel = Policy()",
            learning="Numbers below 1.2e-38 become zero, which changes results only there.",
        )
    ]


def _slower(analysis: Analysis) -> dict[str, float]:
    """Phases of networks that became slower, the one that did so most first: by what factor.

    They do so step by step, which is a trend, or at once: then the later half of the loop must be
    far slower than its beginning. What slowed all of them alike is the machine.
    """
    assert analysis.trends is not None
    trends = analysis.trends.per_call
    names = ("policy.act", "learn.forward", "learn.backward", "learn.optimizer")
    learning = analysis.trends.learning
    ratios = {}
    for name in names:
        first, last = _first_pace(analysis, name), _pace(learning[len(learning) // 2 :], name)
        if first and last:
            ratios[name] = last / first
    if (
        gauge(analysis, schema.SUBNORMALS) or 0.0
    ) < SUBNORMAL_SHARE and "learn.optimizer" in ratios:
        # Only optimizers compute with their states: the other phases show how fast the machine was.
        own = {"learn.optimizer": ratios.pop("learn.optimizer")}
        machine, ratios = max(median(ratios.values()) if ratios else 1.0, 1.0), own
    else:
        machine = max(min(ratios.values(), default=1.0), 1.0) if len(ratios) > 1 else 1.0
    found = {}
    for name, ratio in ratios.items():
        trend = trends.get(name)
        grows = trend is not None and trend.grows and ratio >= SLOWER * machine
        if trend is not None and grows and trend.ratio >= SLOWER:
            found[name] = trend.ratio
        elif len(learning) >= FEW_POINTS and ratio >= FAR_SLOWER * machine:
            found[name] = ratio / machine
    return dict(sorted(found.items(), key=lambda each: -each[1]))


RULES: tuple[Rule, ...] = (anomaly_mode, missing_no_grad, graph_retained, denormals)
