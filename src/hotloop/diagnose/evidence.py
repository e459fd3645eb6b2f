"""What rules read from an analysis, and how they build findings.

Every rule uses these, so that shares, gains and lines mean the same in all of them. Time is in
seconds of the main process's training loop unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hotloop.analyze.gauges import last
from hotloop.analyze.model import Analysis, Frame, Phase, Sample
from hotloop.capture import schema
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import CRITICAL, INFO, WARNING, Finding, Gain
from hotloop.diagnose.proving import OTHER_WORK, verify_command
from hotloop.phases import name_at, names_of

#: A fix that could save less than this share of the run gets no warning: measured noise
#: between two runs of the same program is of this size.
SMALLEST_WARNING = 0.03
#: A share that was measured in one run is off by this part of itself: the standard error of a share
#: of a third in 800 samples. Of 29 gains measured for programs of the third and fourth frozen sets,
#: none was below a range with twice as much.
SHARE_ERROR = 0.05
#: What remains gets faster, too: other code evicts that of the rest from the CPU's caches and
#: fragments its memory. Without code that was 63%, 60% and 53% of their loops, the rest of three
#: programs of the frozen sets took 38%, 38% and 27% less time, that of others hardly less: from
#: none to this part of the share that goes away.
REST_FASTER = 0.5
#: A fix that calls the same functions less often, or for more rows, leaves the rest's caches as
#: they were: in a program of the sixth set, the rest took 5% less time without 68% of its loop.
REST_FASTER_BESIDE_THE_SAME = 0.25
#: From this expected gain on, the rest of the report matters less than this finding.
CRITICAL_GAIN = 1.5
#: A fix never removes everything: no prediction goes beyond this.
MOST_OF_A_RUN = 0.99
STRAY_SAMPLES = 0.15  #: Of the first line's: the phase of a gap is predicted, sometimes wrongly.

Match = Callable[[Frame], bool]


# -- time --


def phases_named(analysis: Analysis, *names: str, process: str = "main") -> list[Phase]:
    """The outermost phases of these names in the main thread of a process."""
    found = []
    for phase in analysis.phases_of.get(process, ()):
        if phase.thread != "main" or phase.name not in names:
            continue
        # What an evaluation does is the evaluation's.
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
        seconds -= sum(each.seconds for each in analysis.once if _is_in(each.path, paths))
    return max(seconds, 0.0)


def _is_in(path: str, paths: tuple[str, ...]) -> bool:
    return any(path == each or path.startswith(each + "/") for each in paths)


def calls_of(analysis: Analysis, *names: str, process: str = "main") -> int:
    """How often these phases were entered from outside of them."""
    return sum(phase.calls for phase in phases_named(analysis, *names, process=process))


def share_of(analysis: Analysis, *names: str) -> float:
    """Share of the loop inside these phases."""
    return of_loop(analysis, seconds_in(analysis, *names))


def of_loop(analysis: Analysis, seconds: float) -> float:
    """Seconds as a share of the training loop without its one-time work."""
    loop_s = analysis.run.steady_s
    return min(max(seconds / loop_s, 0.0), 1.0) if loop_s > 0 else 0.0


def whole_run_s(analysis: Analysis) -> float:
    """The run from its first import to its end; the loop alone where the run was cut short.

    A run that `--stop-after` or a kill ended would have continued in its loop, so its start-up is
    no measure of its length.
    """
    run = analysis.run
    return run.loop_s if analysis.was_cut else max(run.wall_s, run.loop_s)


def vector_size(analysis: Analysis) -> int:
    """How many environments step together; 1 where that is not known."""
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
    """The gain if all of this share went away, and all that it costs the rest."""
    return _with_the_rest(share, 1.0, rest)


def _with_the_rest(share: float, part: float, rest: float) -> float:
    """The gain if a part of this share went away and the rest got faster accordingly."""
    gone = min(max(share * part, 0.0), MOST_OF_A_RUN)
    return 1 / max((1 - gone) * (1 - rest * gone), 1 - MOST_OF_A_RUN)


def rest_faster(analysis: Analysis, phase: str, id: str = "") -> float:
    """How much faster the rest may get: not at all beside waiting, or for work on a device."""
    waits = bool(set(phase.split(".")) & _WAITING)
    computes = analysis.device is None and analysis.run.device == "cpu"
    if waits or not computes:
        return 0.0
    return REST_FASTER_BESIDE_THE_SAME if id in _SAME_CODE else REST_FASTER


#: Causes whose fix makes fewer calls of what runs in any case.
_SAME_CODE = frozenset(
    ["unbatched-policy", "single-env", "too-few-envs", "few-envs-per-runner", "too-many-envs",
     "stepwise-recurrence", "per-sample-update", "update-ratio", "evaluation", "generation-batch",
     "one-leaf-per-pass", "predict-in-loop", "missing-no-grad", "serial-heavy-env", "env-bound",
     "checkpointing-with-memory-to-spare", "framework-overhead", "no-kv-cache", "generation-tail",
     "padding-waste", "reference-model", "eager-generation", "thread-oversubscription",
     "cpu-quota", "too-many-processes", "subprocess-overhead", "stragglers", "growing-step-cost",
     "reset-leak", "buffer-cost-grows"]
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
    least = gain_of(share, low * (1 - SHARE_ERROR), low).low
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
    """Time under a phase in stacks with a certain frame, and who in the program called it."""

    seconds: float = 0.0
    #: SourceLine of the program that led there -> seconds, the most first.
    lines: dict[SourceLine, float] = field(default_factory=dict)
    #: (file, function) of the frames that matched -> seconds.
    functions: dict[tuple[str, str], float] = field(default_factory=dict)

    def where(self, most: int = 3) -> list[SourceLine]:
        ordered = sorted(self.lines, key=lambda line: -self.lines[line])
        return ordered[:most]

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
    """Time in stacks that hold a matching frame, outermost match first."""
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
        use.seconds += sample.seconds
        key = (frames[at].file, frames[at].function)
        use.functions[key] = use.functions.get(key, 0.0) + sample.seconds
        line = program_line(frames[at:])
        if line is not None:
            use.lines[line] = use.lines.get(line, 0.0) + sample.seconds
    return use


def program_line(frames: Iterable[Frame]) -> SourceLine | None:
    """The innermost frame of the program's own, from the inside out."""
    for frame in frames:
        if frame.of_program:
            return SourceLine(frame.file, frame.line, frame.function)
    return None


def in_package(*packages: str) -> Match:
    """Frames of these packages' files."""
    parts = tuple(f"/{package}/" for package in packages)
    files = tuple(f"/{package}.py" for package in packages)

    def match(frame: Frame) -> bool:
        file = frame.file.replace("\\", "/")
        return any(part in file for part in parts) or file.endswith(files)

    return match


def inner_lines(samples: Iterable[Sample], most: int = 3) -> list[SourceLine]:
    """The program's innermost lines, by the time in them and in what they called."""
    return lines_by_time(samples, lambda sample: program_line(sample.frames), most)


def lines_by_time(
    samples: Iterable[Sample],
    choose: Callable[[Sample], Frame | SourceLine | None],
    most: int = 3,
    least: float = 0.0,
) -> list[SourceLine]:
    """The lines that `choose` finds in samples, by their time.

    Those with less than `least` of the first one's time are left out.
    """
    totals: dict[SourceLine, float] = {}
    for sample in samples:
        found = choose(sample)
        if found is not None:
            line = SourceLine(found.file, found.line, found.function)
            totals[line] = totals.get(line, 0.0) + sample.seconds
    lines = sorted(totals, key=lambda line: -totals[line])[:most]
    return [line for line in lines if totals[line] >= least * totals[lines[0]]]


def largest_phase(samples: Iterable[Sample]) -> str:
    """The phase with the most time in these samples; empty where they are in none."""
    totals: dict[str, float] = {}
    for sample in samples:
        name = name_at(sample.path)
        totals[name] = totals.get(name, 0.0) + sample.seconds
    return max(totals, key=lambda name: totals[name], default="")


def where(
    analysis: Analysis, *names: str, processes: Iterable[str] = ("main",)
) -> list[SourceLine]:
    """Where in the program's own code the time of these phases goes."""
    return inner_lines(samples_under(analysis, *names, processes=processes))


#: Functions that are called by a loop, not the loop itself: where a phase begins.
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
        own = [frame for frame in sample.frames if frame.of_program]
        outer = [
            frame
            for frame in own
            if frame.function not in labels and frame.function.rpartition(".")[2] not in CALLED
        ]
        return next(iter(outer[above:] or outer[-1:] or own), None)

    return lines_by_time(samples_under(analysis, *names), caller, least=STRAY_SAMPLES)


# -- facts --


def gauge(analysis: Analysis, name: str) -> float | None:
    """The last value of a gauge in the loop."""
    return last(analysis.loop_windows, name)


def uses(analysis: Analysis, title: str) -> bool:
    """Whether a library was in use, by the title that its table gives it."""
    return title in analysis.notes.libraries


# -- a finding --


def memory_limit(analysis: Analysis) -> float | None:
    """Bytes of memory that the run may use: the container's, or the machine's."""
    machine = analysis.notes.machine
    known = [value for value in (machine.memory_limit, machine.memory_bytes) if value]
    return min(known) if known else None


#: A line with more of the loop's samples below it than this drives the training: `model.learn()`.
DRIVES = 0.9


def without_drivers(analysis: Analysis, lines: list[SourceLine]) -> list[SourceLine]:
    """The lines to edit: without one that drives the whole training, if there are others."""
    below = dict.fromkeys(lines, 0.0)
    whole = 0.0
    for sample in samples_under(analysis):
        whole += sample.seconds
        for line in {SourceLine(f.file, f.line, f.function) for f in sample.frames if f.of_program}:
            if line in below:
                below[line] += sample.seconds
    own = [line for line in lines if below[line] <= DRIVES * whole]
    return own or list(lines)


def finding(
    analysis: Analysis,
    id: str,
    *,
    title: str,
    phase: str,
    seconds: float,
    low: float,
    high: float,
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
    """A finding whose fix takes between `low` and `high` of these seconds of the loop away.

    Its severity follows from the gain; what is too small to warn of is `info`, and `ranking`
    decides what is shown.
    """
    rest = rest_faster(analysis, phase, id)
    gain = loop_gain(analysis, seconds, low, high, rest)
    where = without_drivers(analysis, where or [])
    return Finding(
        id=id,
        severity=severity or severity_of(gain),
        title=title,
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
        ceiling=ceiling_of(of_loop(analysis, seconds), rest),
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
