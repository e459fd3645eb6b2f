"""What rules ask of an analysis, and how they say what they found.

Every rule uses these, so that shares, gains and places mean the same in all of them. Time is in
seconds of the main process's training loop unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hotloop.analyze.model import Analysis, Frame, Phase, Sample
from hotloop.diagnose.finding import CRITICAL, INFO, WARNING, Finding, Gain, Place
from hotloop.diagnose.proving import OTHER_WORK, verify_command
from hotloop.words import names_of

#: Nothing that a fix could win below this share of the run is worth a warning: measured noise
#: between two runs of the same program is of this size.
SMALLEST_WARNING = 0.03
#: Two runs of one program differ by this part, and a share that was measured in one of them is off
#: by this part of itself (both seen over the scoreboard's programs on shared cores).
RUN_NOISE = 0.08
SHARE_ERROR = 0.18
#: The next start may take this part of the last one: importing torch took 2.0 s in one run and 4.4
#: to 5.9 s in others (other programs at work, files not in the system's cache).
WARM_STARTUP = 0.4
#: From this expected gain on, the rest of the report matters less than this finding.
CRITICAL_GAIN = 1.5
#: A fix never removes everything: a claim of more is not one to stand behind.
MOST_OF_A_RUN = 0.99
#: Fewer samples than this in one place say nothing of it (at 100 a second: a fifth of a second).
ENOUGH_SAMPLES_S = 0.2
STRAY_SAMPLES = 0.15  #: Of the first line's: gaps are sampled as foretold, at times wrongly.

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
    """Time in these phases, what is nested inside them included."""
    return sum(phase.total_s for phase in phases_named(analysis, *names, process=process))


def calls_of(analysis: Analysis, *names: str, process: str = "main") -> int:
    """How often these phases were entered from outside of them."""
    return sum(phase.calls for phase in phases_named(analysis, *names, process=process))


def share_of(analysis: Analysis, *names: str, process: str = "main") -> float:
    """Share of the loop inside these phases."""
    return of_loop(analysis, seconds_in(analysis, *names, process=process))


def of_loop(analysis: Analysis, seconds: float) -> float:
    """Seconds as a share of the training loop."""
    loop_s = analysis.run.loop_s
    return min(max(seconds / loop_s, 0.0), 1.0) if loop_s > 0 else 0.0


def whole_run_s(analysis: Analysis) -> float:
    """The run from its first import to its end; the loop alone where the run was cut short.

    A run that `--stop-after` or a kill has cut would have gone on in its loop, so the start-up
    says nothing about its length.
    """
    run = analysis.run
    if analysis.was_cut or run.wall_s <= run.loop_s:
        return run.loop_s
    before_s = run.wall_s - run.loop_s
    return run.loop_s + before_s * _at_the_loops_pace(analysis, before_s)


#: A start-up that others held up by more than this is not made shorter or longer any further.
MOST_UNEVEN = 5.0


def _at_the_loops_pace(analysis: Analysis, before_s: float) -> float:
    """What the start-up would have taken at the loop's pace, over what it took.

    Other programs come and go: one that kept the cores busy in the beginning alone makes a loop
    look like less of the run than it is. Only told of programs with one process and one thread; of
    others some of the waiting for cores is their own.
    """
    windows = [w for w in analysis.loop_windows if "main_delay_s" in w.gauges]
    before = gauge(analysis, "startup_delay_s")
    threads = max((w.gauges.get("torch_threads", 1) for w in windows), default=1)
    if len(windows) < 2 or before is None or analysis.run.processes > 1 or threads > 1:
        return 1.0
    # What the last, cut window says was read when the one before it closed.
    seconds = sum(window.seconds for window in windows[:-1])
    waited = min(before / before_s, 0.95)
    in_loop = min((windows[-1].gauges["main_delay_s"] - before) / seconds, 0.95)
    return min(max((1 - waited) / (1 - max(in_loop, 0.0)), 1 / MOST_UNEVEN), MOST_UNEVEN)


def vector_size(analysis: Analysis) -> int:
    """How many environments step together; 1 where that is not known."""
    said = gauge(analysis, "envs")
    if said and said >= 1:
        return int(said)
    calls = calls_of(analysis, "env.step")
    return max(round(analysis.run.env_steps / calls), 1) if calls else 1


def cores(analysis: Analysis) -> int | None:
    """Cores that the run could use."""
    value = number(analysis.run.header.get("cores"))
    return int(value) if value and value >= 1 else None


def workers(analysis: Analysis) -> list[str]:
    """Names of the other processes that stepped environments."""
    return sorted(
        {p.process for p in analysis.phases if p.process != "main" and p.name == "env.step"}
    )


# -- gains --


def gain_of(share: float, low: float, high: float) -> Gain:
    """The gain if between `low` and `high` of this share of the time went away (Amdahl)."""
    return Gain(*(1 / (1 - min(max(share * part, 0.0), MOST_OF_A_RUN)) for part in (low, high)))


def run_gain(analysis: Analysis, seconds: float, low: float, high: float) -> Gain:
    """The gain of the run if between `low` and `high` of these seconds of its loop went away.

    Of this run, start-up included: as it was at the low end, at the high end with as short a one
    as it may have next time. A longer run gains more, as its loop does.
    """
    whole, loop_s = whole_run_s(analysis), analysis.run.loop_s
    if whole <= 0 or seconds <= 0 or high <= 0:
        return Gain(1.0, 1.0)
    warm = loop_s + (whole - loop_s) * WARM_STARTUP
    most = gain_of(seconds / warm, high, high).high * (1 + RUN_NOISE)
    return Gain(gain_of(seconds / whole, low * (1 - SHARE_ERROR), low).low, most)


# -- samples --


@dataclass
class Use:
    """Time under a phase in stacks with a certain frame, and who in the program called it."""

    seconds: float = 0.0
    #: Place of the program that led there -> seconds, the most first.
    places: dict[Place, float] = field(default_factory=dict)
    #: (file, function) of the frames that matched -> seconds.
    functions: dict[tuple[str, str], float] = field(default_factory=dict)

    def where(self, most: int = 3) -> list[Place]:
        ordered = sorted(self.places, key=lambda place: -self.places[place])
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
            # The same few frames are in thousands of stacks: each is asked about once.
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
        place = program_place(frames[at:])
        if place is not None:
            use.places[place] = use.places.get(place, 0.0) + sample.seconds
    return use


def program_place(frames: Iterable[Frame]) -> Place | None:
    """The innermost frame of the program's own, from the inside out."""
    for frame in frames:
        if frame.of_program:
            return Place(frame.file, frame.line, frame.function)
    return None


def in_package(*packages: str) -> Match:
    """Frames of these packages' files."""
    parts = tuple(f"/{package}/" for package in packages)
    files = tuple(f"/{package}.py" for package in packages)

    def match(frame: Frame) -> bool:
        file = frame.file.replace("\\", "/")
        return any(part in file for part in parts) or file.endswith(files)

    return match


def hot_places(samples: Iterable[Sample], most: int = 3) -> list[Place]:
    """The program's own lines with the most time in or below them."""
    return use_of(samples, lambda frame: frame.of_program).where(most) if samples else []


def inner_places(samples: Iterable[Sample], most: int = 3) -> list[Place]:
    """The program's innermost lines, by the time in them and in what they called."""
    totals: dict[Place, float] = {}
    for sample in samples:
        place = program_place(sample.frames)
        if place is not None:
            totals[place] = totals.get(place, 0.0) + sample.seconds
    return sorted(totals, key=lambda place: -totals[place])[:most]


def where(analysis: Analysis, *names: str, processes: Iterable[str] = ("main",)) -> list[Place]:
    """Where in the program's own code the time of these phases goes."""
    return inner_places(samples_under(analysis, *names, processes=processes))


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


def callers(analysis: Analysis, *names: str, above: int = 0) -> list[Place]:
    """The program's line that enters these phases, as samples saw it, or so many calls above.

    A stack does not say at which of its frames a phase began. That is the innermost of the
    program's frames which is neither a function that was recognised as a phase itself nor one
    that libraries call back (a network's `forward`, an environment's `step`).
    """
    recognised = note(analysis, "shapes")
    labels = {
        str(label).partition(":")[2]
        for listed in (recognised.values() if isinstance(recognised, dict) else ())
        for label in (listed if isinstance(listed, list) else ())
    }
    totals: dict[Place, float] = {}
    for sample in samples_under(analysis, *names):
        own = [frame for frame in sample.frames if frame.of_program]
        outer = [
            frame
            for frame in own
            if frame.function not in labels and frame.function.rpartition(".")[2] not in CALLED
        ]
        for frame in (outer[above:] or outer[-1:] or own)[:1]:
            place = Place(frame.file, frame.line, frame.function)
            totals[place] = totals.get(place, 0.0) + sample.seconds
    places = sorted(totals, key=lambda place: -totals[place])[:3]
    return [place for place in places if totals[place] >= STRAY_SAMPLES * totals[places[0]]]


# -- facts --


def note(analysis: Analysis, *path: str) -> Any:
    """A note of the main process, or a part of one; None where it was not recorded."""
    value: Any = analysis.notes
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def number(value: Any) -> float | None:
    """A note as a number; None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return None


def gauge(analysis: Analysis, name: str) -> float | None:
    """The last value of a gauge in the loop."""
    for window in reversed(analysis.loop_windows):
        if name in window.gauges:
            return window.gauges[name]
    return None


def uses(analysis: Analysis, title: str) -> bool:
    """Whether a library was in use, by the title that its table gives it."""
    libraries = analysis.notes.get("libraries")
    return isinstance(libraries, dict) and title in libraries


# -- a finding --


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
    where: list[Place] | None = None,
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
    gain = run_gain(analysis, seconds, low, high)
    return Finding(
        id=id,
        # A run whose loop was short beside its start-up will be longer when it matters.
        severity=severity or severity_of(gain_of(of_loop(analysis, seconds), low, high)),
        title=title,
        phase=phase,
        gain=gain,
        confidence=confidence,
        fix=fix,
        verify=verify
        if verify is not None
        else verify_command(analysis, where, any_work=id in OTHER_WORK),
        where=list(where or []),
        evidence={
            "seconds": seconds,
            "share_of_loop": of_loop(analysis, seconds),
            "gain_of_loop": _pair(gain_of(of_loop(analysis, seconds), low, high)),
        }
        | (evidence or {}),
        before=before,
        after=after,
        learning=learning,
    )


def _pair(gain: Gain) -> list[float]:
    return [gain.low, gain.high]


def severity_of(gain: Gain) -> str:
    """How loud to be about a gain; what matters is what a fix wins for certain."""
    if won(gain) < SMALLEST_WARNING:
        return INFO
    return CRITICAL if gain.low >= CRITICAL_GAIN else WARNING


def won(gain: Gain) -> float:
    """The share of the run that the lower end of a gain wins."""
    return 1 - 1 / gain.low if gain.low > 1 else 0.0
