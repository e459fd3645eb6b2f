"""Helpers with which rules read an analysis and build findings.

Every rule uses these, so that shares, gains and lines mean the same in all of them. Time is in
seconds of the main process's training loop unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from hotloop.analyze.kind import span_of
from hotloop.analyze.model import Analysis, Frame, Phase, Sample
from hotloop.analyze.over_time.gauges import last
from hotloop.analyze.sums import summed
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import CRITICAL, INFO, WARNING, Finding, Gain
from hotloop.diagnose.proving import OTHER_WORK, verify_command
from hotloop.phases import names_of

#: A fix that could save less than this share of the run gets no warning: measured noise
#: between two runs of the same program is of this size.
SMALLEST_WARNING = 0.03
#: A share that was measured in one run is off by this part of itself at most, and by less where it
#: is large: the standard error of a share in this many samples, 0.05 of a third. Of 29 gains that
#: were measured for programs of the third and fourth sets, none was below a range with twice it.
SHARE_ERROR, SAMPLES = 0.05, 800
#: What remains gets faster, too: other code evicts that of the rest from the CPU's caches and
#: fragments its memory. Without code that was 63%, 60% and 53% of their loops, the rest of three
#: programs of the frozen sets took 38%, 38% and 27% less time, that of others hardly less: from
#: none to this part of the share that goes away.
REST_FASTER = 0.5
#: The most that was taken off the rest of any loop.
MOST_REST_FASTER = 0.38
#: A fix that calls the same functions less often, or for more rows, leaves the rest's caches as
#: is: in a program of the sixth set, the rest took 5% less time without 68% of its loop.
REST_FASTER_BESIDE_THE_SAME = 0.25
#: Above this expected gain, the rest of the report matters less than this finding.
CRITICAL_GAIN = 1.5
#: A fix never removes everything: no prediction goes beyond this.
MOST_OF_A_RUN = 0.99
STRAY_SAMPLES = 0.15  #: Of the first line's time: a gap's phase is predicted, sometimes wrongly.

Match = Callable[[Frame], bool]


# -- time --


def phases_named(analysis: Analysis, *names: str, process: str = "main") -> list[Phase]:
    """The outermost phases of these names in the main thread of a process."""
    found = []
    for phase in analysis.phases_of.get(process, ()):
        if phase.thread != "main" or phase.name not in names:
            continue
        # Work inside an evaluation belongs to the evaluation.
        above = names_of(phase.path)[:-1]
        if any(part in names or part == "evaluate" for part in above):
            continue
        # An opponent that acts inside a step is the environment's.
        if phase.name == "policy.act" and any(part.startswith("env.") for part in above):
            continue
        found.append(phase)
    return found


def seconds_in(analysis: Analysis, *names: str, process: str = "main") -> float:
    """Time in these phases and below, on the critical path where a device was recorded.

    One-time work in them is left out: it says nothing about the steps that follow.
    """
    found = phases_named(analysis, *names, process=process)
    seconds = sum(phase.loop_s for phase in found)
    if process == "main" and analysis.once:
        paths = tuple(phase.path for phase in found)
        seconds -= sum(each.inside(paths) for each in analysis.once)
    return max(seconds, 0.0)


def calls_of(analysis: Analysis, *names: str, process: str = "main") -> int:
    """How often these phases were entered from outside."""
    return sum(phase.calls for phase in phases_named(analysis, *names, process=process))


def share_of(analysis: Analysis, *names: str) -> float:
    """Share of the loop inside these phases."""
    return of_loop(analysis, seconds_in(analysis, *names))


def of_loop(analysis: Analysis, seconds: float) -> float:
    """Seconds as a share of the training loop without its one-time work."""
    loop_s = analysis.run.steady_s
    return min(max(seconds / loop_s, 0.0), 1.0) if loop_s > 0 else 0.0


def whole_run_s(analysis: Analysis) -> float:
    """The run from its first import to its end, or the loop alone if the run was cut short.

    A run that `--stop-after` or a kill ended would have continued in its loop, so its start-up is
    no measure of its length.
    """
    run = analysis.run
    return run.loop_s if analysis.was_cut else max(run.wall_s, run.loop_s)


def vector_size(analysis: Analysis) -> int:
    """How many environments step together; 1 if unknown."""
    said = gauge(analysis, schema.ENVS)
    if said and said >= 1:
        return int(said)
    calls = calls_of(analysis, "env.step")
    return max(round(analysis.run.env_steps / calls), 1) if calls else 1


def cores(analysis: Analysis) -> int | None:
    """Cores that the run could use."""
    value = analysis.run.header.cores
    return value if value and value >= 1 else None


def workers(analysis: Analysis) -> list[str]:
    """Names of the other processes that stepped environments."""
    return sorted(
        {p.process for p in analysis.phases if p.process != "main" and p.name == "env.step"}
    )


# -- gains --


def gain_of(share: float, low: float, high: float) -> Gain:
    """The gain if between `low` and `high` of this share of the time went away (Amdahl)."""
    return Gain(*(1 / (1 - min(max(share * part, 0.0), MOST_OF_A_RUN)) for part in (low, high)))


def ceiling_of(share: float, rest: float = 0.0) -> float:
    """The gain if all of this share went away, and all of its cost to the rest of the loop."""
    return _with_the_rest(share, 1.0, rest)


def _with_the_rest(share: float, part: float, rest: float) -> float:
    """The gain if a part of this share went away and the rest got faster accordingly."""
    gone = min(max(share * part, 0.0), MOST_OF_A_RUN)
    faster = min(rest * gone, MOST_REST_FASTER)
    return 1 / max((1 - gone) * (1 - faster), 1 - MOST_OF_A_RUN)


def rest_faster(analysis: Analysis, phase: str, id: str = "") -> float:
    """How much faster the rest may get: not at all for waiting, or for work on a device."""
    waits = bool(set(phase.split(".")) & _WAITING)
    computes = analysis.device is None and analysis.run.device == "cpu"
    if waits or not computes:
        return 0.0
    return REST_FASTER_BESIDE_THE_SAME if id in _SAME_CODE else REST_FASTER


#: Causes whose fix makes fewer calls of code that still runs.
_SAME_CODE = frozenset(
    ["unbatched-policy", "single-env", "too-few-envs", "few-envs-per-runner", "too-many-envs",
     "stepwise-recurrence", "per-sample-update", "update-ratio", "evaluation", "generation-batch",
     "one-leaf-per-pass", "predict-in-loop", "missing-no-grad", "serial-heavy-env", "env-bound",
     "float64-by-accident",
     "checkpointing-with-memory-to-spare", "framework-overhead", "no-kv-cache", "generation-tail",
     "padding-waste", "reference-model", "eager-generation", "thread-oversubscription",
     "cpu-quota", "too-many-processes", "subprocess-overhead", "stragglers", "growing-step-cost",
     "reset-leak", "buffer-cost-grows", "preprocessing-order", "mixed-precision-no-gain",
     "dear-connectors"]
)  # fmt: skip


#: Phases in which the CPU computes nothing.
_WAITING = frozenset({"wait", "comm", "transfer", "sync"})


def loop_gain(
    analysis: Analysis, seconds: float, low: float, high: float, rest: float | None = None
) -> Gain:
    """The gain of the loop if between `low` and `high` of these seconds went away.

    The range is widened by what a measurement is off by, and never goes above the ceiling.
    """
    rest = rest_faster(analysis, "") if rest is None else rest
    return measured_gain_of(of_loop(analysis, seconds), low, high, rest)


def measured_gain_of(share: float, low: float, high: float, rest: float = 0.0) -> Gain:
    """The gain for a measured share: `gain_of`, widened by the errors of measuring."""
    if share <= 0 or high <= 0:
        return Gain(1.0, 1.0)
    error = min(SHARE_ERROR, sqrt((1 - min(share, 1.0)) / (share * SAMPLES)))
    least = gain_of(share, low * (1 - error), low).low
    return Gain(least, _with_the_rest(share, high, rest)).capped(ceiling_of(share, rest))


def gain_of_run(analysis: Analysis, gain: Gain) -> Gain | None:
    """The gain of the whole run from a gain of the loop; None if the run was stopped early."""
    whole, loop_s = whole_run_s(analysis), analysis.run.loop_s
    if analysis.was_cut or whole <= 0:
        return None
    return Gain(*(whole / (whole - loop_s * (1 - 1 / each)) for each in (gain.low, gain.high)))


# -- samples --


@dataclass
class Use:
    """Time under a phase in stacks with a certain frame, and the program's lines that called it."""

    seconds: float = 0.0
    #: SourceLine of the program that led there -> seconds, largest first.
    lines: dict[SourceLine, float] = field(default_factory=dict)
    #: (file, function) of the frames that matched -> seconds.
    functions: dict[tuple[str, str], float] = field(default_factory=dict)

    def add(self, line: SourceLine | None, seconds: float) -> None:
        """Add time at a line; `None` where no line of the program led there."""
        self.seconds += seconds
        if line is not None:
            self.lines[line] = self.lines.get(line, 0.0) + seconds

    def __add__(self, other: Use) -> Use:
        return Use(
            self.seconds + other.seconds,
            summed([*self.lines.items(), *other.lines.items()]),
            summed([*self.functions.items(), *other.functions.items()]),
        )

    def where(self, most: int = 3, least: float = 0.0) -> list[SourceLine]:
        """The lines with the most time, without those with less than `least` of the first one's."""
        lines = sorted(self.lines, key=lambda line: -self.lines[line])[:most]
        return [line for line in lines if self.lines[line] >= least * self.lines[lines[0]]]

    def largest(self) -> tuple[str, str] | None:
        if not self.functions:
            return None
        return max(self.functions, key=lambda key: self.functions[key])


def samples_under(
    analysis: Analysis, *names: str, processes: Iterable[str] = ("main",)
) -> list[Sample]:
    """Stacks seen while one of these phases was open; all stacks if none is named."""
    wanted = set(processes)
    paths = {sample.path for sample in analysis.samples}
    under = {path for path in paths if not names or set(names_of(path)) & set(names)}
    return [s for s in analysis.samples if s.path in under and s.process in wanted]


def use_of(samples: Iterable[Sample], match: Match) -> Use:
    """Time in stacks that contain a matching frame, outermost match first."""
    use = Use()
    answers: dict[int, bool] = {}
    for sample in samples:
        frames = sample.frames
        at = None
        for i in range(len(frames) - 1, -1, -1):
            # The same few frames are in thousands of stacks: each is matched once.
            who = id(frames[i])
            answer = answers.get(who)
            if answer is None:
                answer = answers[who] = match(frames[i])
            if answer:
                at = i
                break
        if at is None:
            continue
        code = frames[at].code
        use.functions[code] = use.functions.get(code, 0.0) + sample.seconds
        use.add(program_line(frames[at:]), sample.seconds)
    return use


def use_by(samples: Iterable[Sample], choose: Callable[[Sample], Frame | SourceLine | None]) -> Use:
    """Time of the samples in which `choose` finds a line, by line."""
    use = Use()
    for sample in samples:
        found = choose(sample)
        if found is not None:
            use.add(found.source_line if isinstance(found, Frame) else found, sample.seconds)
    return use


def program_line(frames: Iterable[Frame]) -> SourceLine | None:
    """The innermost frame of the program's own, from the inside out."""
    for frame in frames:
        if frame.of_program:
            return frame.source_line
    return None


def in_package(*packages: str) -> Match:
    """Frames of these packages' files."""
    parts = tuple(f"/{package}/" for package in packages)
    files = tuple(f"/{package}.py" for package in packages)

    def match(frame: Frame) -> bool:
        file = frame.file.replace("\\", "/")
        return any(part in file for part in parts) or file.endswith(files)

    return match


def inner_lines(samples: Iterable[Sample]) -> list[SourceLine]:
    """The program's innermost lines, by the time in them and in their calls."""
    return use_by(samples, lambda sample: sample.line).where()


def largest_phase(samples: Iterable[Sample]) -> str:
    """The phase with the most time in these samples; empty if they are in none."""
    totals = summed((sample.phase, sample.seconds) for sample in samples)
    return max(totals, key=lambda name: totals[name], default="")


def where(
    analysis: Analysis, *names: str, processes: Iterable[str] = ("main",)
) -> list[SourceLine]:
    """The lines of the program's own code in which these phases spend their time."""
    return inner_lines(samples_under(analysis, *names, processes=processes))


#: Functions called by a loop, not the loop itself, in which a phase begins.
CALLED = frozenset(
    [
        "forward",
        "__call__",
        "call",
        "step",
        "reset",
        "render",
        "step_wait",
        "step_async",
        "<lambda>",
    ]
)


def callers(analysis: Analysis, *names: str, above: int = 0) -> list[SourceLine]:
    """The program's line that enters these phases, as samples saw it, or `above` calls above it.

    A stack does not say at which of its frames a phase began. That is the innermost of the
    program's frames which is neither a function that was recognized as a phase itself nor one
    that libraries call back (a network's `forward`, an environment's `step`).
    """
    shapes = analysis.notes.shapes.values()
    labels = {label.partition(":")[2] for listed in shapes for label in listed}

    def caller(sample: Sample) -> Frame | None:
        own = sample.own
        outer = [
            frame for frame in own if frame.function not in labels and frame.short not in CALLED
        ]
        return next(iter(outer[above:] or outer[-1:] or own), None)

    return use_by(samples_under(analysis, *names), caller).where(least=STRAY_SAMPLES)


# -- facts --


def gauge(analysis: Analysis, name: str) -> float | None:
    """The last value of a gauge in the loop."""
    return last(analysis.loop_windows, name)


def uses(analysis: Analysis, *titles: str) -> bool:
    """Whether one of these libraries was in use, by the title in its table."""
    return any(title in analysis.notes.libraries for title in titles)


# -- a finding --


def memory_limit(analysis: Analysis) -> float | None:
    """Bytes of memory that the run may use: the container's, or the machine's."""
    machine = analysis.notes.machine
    known = [value for value in (machine.memory_limit, machine.memory_bytes) if value]
    return min(known) if known else None


#: A line with more of the loop's samples below it than this drives the training: `model.learn()`.
DRIVES = 0.9


def without_drivers(analysis: Analysis, lines: list[SourceLine]) -> list[SourceLine]:
    """The lines to edit, without any that drives the whole training if there are others.

    A line that does nearly all of it itself drives nothing.
    """
    lines = list(dict.fromkeys(lines))
    below = {(line.file, line.line): 0.0 for line in lines}
    itself = dict(below)
    whole = 0.0
    for sample in samples_under(analysis):
        whole += sample.seconds
        places = [(frame.file, frame.line) for frame in sample.own]
        for place in set(places) & below.keys():
            below[place] += sample.seconds
            leaf = sample.frames[0].of_program and place == places[0]
            itself[place] += sample.seconds if leaf else 0.0
    drivers = {p for p in below if below[p] > DRIVES * whole and itself[p] < DRIVES * below[p]}
    own = [line for line in lines if (line.file, line.line) not in drivers]
    return own or lines


def finding(
    analysis: Analysis,
    id: str,
    *,
    title: str,
    phase: str,
    seconds: float,
    saves: tuple[float, float],
    fix: str,
    confidence: str,
    where: list[SourceLine] | None = None,
    evidence: dict[str, Any] | None = None,
    verify: str | None = None,
    severity: str | None = None,
    before: str = "",
    after: str = "",
    learning: str = "",
) -> Finding:
    """A finding whose fix removes between the two parts `saves` of these seconds of the loop.

    Its severity follows from the gain; what is too small to warn of is `info`, and `ranking`
    decides what is shown.
    """
    rest = rest_faster(analysis, phase, id)
    gain = loop_gain(analysis, seconds, *saves, rest)
    where = without_drivers(analysis, where or [])
    return Finding(
        id=id,
        severity=severity or severity_of(gain),
        title=title.replace("of the loop", f"of the {span_of(analysis)}"),
        phase=phase,
        gain=gain,
        confidence=confidence,
        fix=fix,
        verify=verify
        if verify is not None
        else verify_command(analysis, where, any_work=id in OTHER_WORK),
        where=where,
        evidence={
            "seconds": seconds,
            "share_of_loop": of_loop(analysis, seconds),
            "gain_of_loop": [gain.low, gain.high],
        }
        | (evidence or {}),
        before=before,
        after=after,
        learning=learning,
        # A cost that is only called less often can never become zero.
        ceiling=gain.high if id in _SAME_CODE else ceiling_of(of_loop(analysis, seconds), rest),
        run_gain=gain_of_run(analysis, gain),
    )


def severity_of(gain: Gain) -> str:
    """The severity of a gain, by the middle of its range."""
    if won(gain) < SMALLEST_WARNING:
        return INFO
    return CRITICAL if gain.middle >= CRITICAL_GAIN else WARNING


def won(gain: Gain) -> float:
    """The share of the time that the middle of a gain saves."""
    return 1 - 1 / gain.middle
