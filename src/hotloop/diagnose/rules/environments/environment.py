"""Causes inside an environment's step: slow libraries, copies, repeated work."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    Use,
    finding,
    in_package,
    of_loop,
    samples_under,
    use_of,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, Finding, Rule
from hotloop.diagnose.naming import by_name, name_of, stands_before
from hotloop.diagnose.recorded import at, copies_by_dumping, writes_table
from hotloop.diagnose.rules.environments.environment_samples import (
    SMALLEST_PART,
    InsideSteps,
    inside_steps,
    part_of,
    step_functions,
)
from hotloop.diagnose.rules.environments.simulating import recurrences, simulates
from hotloop.diagnose.rules.storage.loading import functions_that_read, reads_files

# -- libraries that are slow to call for one row --

#: A cell through pandas takes 10 to 100 microseconds, from an array 0.1: a published case
#: saved 98% of a step, and what replaces it is not free.
PANDAS_WINS = (0.85, 0.985)


#: Phases in which pandas is fine, and those of the environment itself.
_NOT_STEPPING = frozenset({"data", "log", "checkpoint", "import", "env.step", "env.reset"})


def pandas_in_step(analysis: Analysis) -> list[Finding]:
    """pandas is used in every step."""
    inside = inside_steps(analysis)
    use = inside.use(in_package("pandas"))
    phase = "env.step"
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        # Outside the environment: a table of values, features computed for each action.
        phase = "collect"
        apart = [s for s in _loop_samples(analysis) if not _NOT_STEPPING & set(s.phases)]
        apart = [s for s in apart if not any(writes_table(frame) for frame in s.frames)]
        readers = functions_that_read(apart)
        apart = [s for s in apart if not reads_files(s, readers)]
        use = use_of(apart, in_package("pandas"))
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    by = by_name(use.where())
    return [
        finding(
            analysis,
            "pandas-in-step",
            title=f"pandas is used {'in' if phase == 'env.step' else 'outside'} environment steps"
            f"{by}: {of_loop(analysis, use.seconds):.0%} of the loop",
            phase=phase,
            seconds=use.seconds,
            saves=PANDAS_WINS,
            confidence=HIGH,
            where=use.where(),
            evidence={"share_of_env_step": part_of(use.seconds, inside.seconds)},
            fix="Each row or cell lookup in pandas costs tens of microseconds. Convert the "
            "columns to NumPy arrays once, in the constructor, and index those in `step`. "
            "Compute rolling statistics there too.",
            before='price = self.df.iloc[self.t]["close"]',
            after='self.close = df["close"].to_numpy()   # once, in __init__\n'
            "price = self.close[self.t]",
        )
    ]


#: The shallow copy remains. With four programs whose fix was measured, 0.9 to 1.4 of the share went
#: away (the rest got faster as well).
DEEPCOPY_WINS = (0.85, 0.98)
#: Where a library copies what an environment hands out (its infos), the program can only hand out
#: less.
HANDED_OUT_WINS = (0.4, 0.9)
HANDED_OUT_SHARE = 0.10


def deepcopy_in_step(analysis: Analysis) -> list[Finding]:
    """State or infos are deep-copied in every step."""
    inside = inside_steps(analysis)
    within = _copying(analysis, inside)
    # Values that the loop stores or passes on are copied outside the environment; both go away.
    apart = [s for s in _loop_samples(analysis) if not _in_environment(s)]
    outside = InsideSteps(apart, inside.seconds, 1.0)
    use = within + _copying(analysis, outside)
    phase = "env.step" if 2 * within.seconds >= use.seconds else "collect"
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    # An evaluation steps the same environments: its copies go away with the same change.
    evaluated = InsideSteps(_evaluating(analysis), inside.seconds, 1.0)
    use = use + _copying(analysis, evaluated)
    share = of_loop(analysis, use.seconds)
    scaled = sum(
        sample.seconds * part.scale
        for part in (inside, outside, evaluated)
        for sample in part.samples
        if _copies_itself(sample) or copies_by_dumping(analysis, sample)
    )
    handed_out = scaled < 0.5 * use.seconds
    if handed_out and share < HANDED_OUT_SHARE:
        return []  # the library's own work
    low, high = HANDED_OUT_WINS if handed_out else DEEPCOPY_WINS
    found = finding(
        analysis,
        "deepcopy-in-step",
        title=f"Deep copies{at(use.where())} take {share:.0%} of the loop",
        phase=phase,
        seconds=use.seconds,
        saves=(low, high),
        confidence=HIGH,
        where=use.where(),
        evidence={
            "share_of_env_step": part_of(within.seconds, inside.seconds),
            "in_env_step_s": within.seconds,
            "elsewhere_s": use.seconds - within.seconds,
        },
        fix="A deep copy visits every object in Python. Copy only what changes: arrays with "
        "`.copy()`, dictionaries with `dict(…)`.",
        before="state = copy.deepcopy(self.state)",
        after='state = {**self.state, "board": self.state["board"].copy()}',
    )
    return [_of_a_library(found, share) if handed_out else found]


def _evaluating(analysis: Analysis) -> list[Sample]:
    return [s for s in samples_under(analysis, "evaluate") if "env.step" in s.phases]


def _of_a_library(found: Finding, share: float) -> Finding:
    return replace(
        found,
        title=f"A library deep-copies what the environment returns: {share:.0%} of the loop",
        fix="A deep copy visits every object in Python. Return small infos: a few plain "
        "numbers, and only if something reads them.",
        before="return obs, reward, done, False, self.everything()",
        after='return obs, reward, done, False, {"score": self.score} if done else {}',
    )


def _in_environment(sample: Sample) -> bool:
    return "env.step" in sample.phases


def _copying(analysis: Analysis, inside: InsideSteps) -> Use:
    """Deep copies, by `copy.deepcopy` or by way of `dumps` and `loads`."""
    use = inside.use(_is_deepcopy)
    for sample in inside.samples:
        if any(_is_deepcopy(frame) for frame in sample.frames):
            continue  # it counts already
        line = sample.line
        if line and copies_by_dumping(analysis, sample):
            use.seconds += sample.seconds * inside.scale
            use.lines[line] = use.lines.get(line, 0.0) + sample.seconds
    return use


def _copies_itself(sample: Sample) -> bool:
    """Whether the program itself calls the outermost deep copy of a stack."""
    outermost = [i for i, frame in enumerate(sample.frames) if _is_deepcopy(frame)]
    following = sample.frames[outermost[-1] + 1 :] if outermost else ()
    return bool(following) and following[0].of_program


def _is_deepcopy(frame: Frame) -> bool:
    file = frame.file.replace("\\", "/")
    return frame.function.startswith("deepcopy") and file.endswith("/copy.py")


# -- one function that dominates --

#: A helper with this share of the environment's time is worth its own finding.
HELPER_SHARE = 0.45
#: Less than this per step is a handful of Python calls, which every observation needs.
HELPER_S = 40e-6
#: Two programs of the scoreboard gained 5.2 times (0.81) and two orders of magnitude.
REDUNDANT_WINS = (0.7, 0.97)
#: Helpers with these words in their names are the simulation itself, not additional work.
_SIMULATES = re.compile(
    r"simulat|physic|dynamic|integrat|substep|sub_step|advance|propagate|euler|rk4|runge|solve|"
    r"collision|collide|kinematic|tick|evolve|_step$|\.step$|step_|_move|world",
    re.IGNORECASE,
)


def redundant_work(analysis: Analysis) -> list[Finding]:
    """One helper of the environment, such as building the observation, is most of a step."""
    inside = inside_steps(analysis)
    if of_loop(analysis, inside.seconds) < SMALLEST_PART:
        return []
    # A reset that a vector makes inside a step is a separate cause.
    stepping = [s for s in inside.samples if "env.reset" not in s.phases]
    steps, recurrent = step_functions(analysis), recurrences(analysis)
    stepping = [s for s in stepping if not simulates(s, _step_at(s, steps), recurrent)]
    helper, own_s, seconds, lines = _helper(replace(inside, samples=stepping), steps)
    if helper is None or seconds < HELPER_SHARE * inside.seconds:
        return []
    if of_loop(analysis, seconds) < SMALLEST_PART or _SIMULATES.search(helper.function):
        return []
    # Evidence that it can be avoided: Python's own overhead. What native code computes from a state
    # that changes is the simulation, whoever calls it.
    if _native_part(_inside_of(inside, helper)) > MOST_NATIVE:
        return []
    if _waits(analysis, inside, helper) or _works_s(analysis, inside, helper) < HELPER_S:
        return []
    name = name_of(helper.function)
    return [
        finding(
            analysis,
            "redundant-work-in-step",
            title=f"`{name}` takes {part_of(own_s, inside.seconds):.0%} of an environment step "
            f"and {of_loop(analysis, own_s):.0%} of the loop",
            phase="env.step",
            seconds=seconds,
            saves=REDUNDANT_WINS,
            confidence=MEDIUM,
            where=lines,
            evidence={
                "function": helper.function,
                "share_of_env_step": part_of(own_s, inside.seconds),
            },
            fix=f"Every step recomputes `{name}`. Compute whatever depends only on the data "
            "(rolling statistics, features) once, before the loop. Keep and update, or "
            "vectorize, whatever changes little between steps (distances, reachable "
            "cells). If neither is possible, compile it.",
            before="obs = self.features(self.t)            # in step",
            after="self.table = self.features_of_all()    # once, in __init__\n"
            "obs = self.table[self.t]",
        )
    ]


#: A helper that spends more of its time than this in native code already works on arrays.
MOST_NATIVE = 0.5


def _inside_of(inside: InsideSteps, helper: Frame) -> list[Sample]:
    return [s for s in inside.samples if any(f.function == helper.function for f in s.frames)]


def _native_part(samples: list[Sample]) -> float:
    """The part of the time on a core in which native code ran."""
    on_core = [s for s in samples if not s.without_core and not s.waiting]
    native = sum(sample.seconds for sample in on_core if sample.native)
    return part_of(native, sum(sample.seconds for sample in on_core))


#: A helper that waits in this share of its samples, while the rest of the program waits less,
#: waits for something (a service, a file). On a crowded machine everything waits, for a core.
WAITS = 0.8
WORKS = 0.5


def _waits(analysis: Analysis, inside: InsideSteps, helper: Frame) -> bool:
    own = _inside_of(inside, helper)
    rest = [s for s in samples_under(analysis) if not {"env.step", "wait"} & set(s.phases)]
    return _waiting_part(own) >= WAITS and _waiting_part(rest) <= WORKS


def _works_s(analysis: Analysis, inside: InsideSteps, helper: Frame) -> float:
    """Seconds in a helper per environment step, without the whole program's usual waiting."""
    own = _inside_of(inside, helper)
    works = 1 - min(_waiting_part(samples_under(analysis)), 0.9)
    steps = analysis.run.env_steps
    return seconds_of(own) * inside.scale * works / steps if steps else 0.0


def _waiting_part(samples: list[Sample]) -> float:
    whole = seconds_of(samples)
    return part_of(sum(sample.seconds for sample in samples if sample.waiting), whole)


#: A function inside the largest one that takes this part of its time is what makes it large.
NEARLY_ALL = 0.8


def _helper(
    inside: InsideSteps, steps: frozenset[str]
) -> tuple[Frame | None, float, float, list[SourceLine]]:
    """The function below the step that takes the time, its seconds, those with what is around it
    and belongs to it, and their hot lines.
    """
    totals: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, str], dict[int, float]] = {}
    frames: dict[tuple[str, str], Frame] = {}
    called: dict[tuple[str, str], dict[SourceLine, float]] = {}
    for sample in inside.samples:
        below = _below_step(sample, steps)
        outer = [frame.source_line for frame in below[1:]]
        for frame, caller in zip(below, [*outer, _caller(sample, below)], strict=False):
            if caller is not None:
                entered = called.setdefault(frame.code, {})
                entered[caller] = entered.get(caller, 0.0) + sample.seconds
        for frame in below:
            key = frame.code
            totals[key] = totals.get(key, 0.0) + sample.seconds * inside.scale
            frames[key] = frame
            table = lines.setdefault(key, {})
            # Samples whose line is not known are put on the first line.
            seconds = sample.seconds if frame.line != frame.first_line else 0.0
            table[frame.line] = table.get(frame.line, 0.0) + seconds
    if not totals:
        return None, 0.0, 0.0, []
    most = max(totals.values())
    large = [key for key in totals if totals[key] >= NEARLY_ALL * most]
    named = [key for key in large if not _SIMULATES.search(key[1])] or large
    # A decorator is not part of a step's work, but may be a place to keep results.
    before = [key for key in named if stands_before(key[1])]
    named = [key for key in named if key not in before] or named
    key = max(named, key=lambda k: totals[k])
    # The innermost of those with nearly all of the time is the best place.
    inner = min(named, key=lambda k: totals[k])
    places = [SourceLine(each[0], _most(lines[each]), each[1]) for each in (inner, *before)]
    # A table or a kept result replaces its callers and all of it in `step`.
    places += [_most(calls) for each in (inner, key) if (calls := called.get(each))]
    return frames[inner], totals[inner], totals[key], list(dict.fromkeys(places))


_Line = TypeVar("_Line", int, SourceLine)


def _most(lines: dict[_Line, float]) -> _Line:
    return max(lines, key=lambda line: lines[line])


def _caller(sample: Sample, below: list[Frame]) -> SourceLine | None:
    """The line of `step` itself that called the outermost of the functions below it."""
    own = sample.own
    at = own.index(below[-1]) + 1 if below and below[-1] in own else 0
    if not at or at >= len(own):
        return None
    return own[at].source_line


_STEPS = frozenset({"step", "step_wait", "step_async", "_step", "env_step"})


def _step_at(sample: Sample, steps: frozenset[str]) -> int:
    """The position of the innermost `step` in a stack, or -1."""
    for depth, frame in enumerate(sample.frames):  # from the inside out
        if frame.short in _STEPS or frame.function in steps:
            return depth
    return -1


def _below_step(sample: Sample, steps: frozenset[str]) -> list[Frame]:
    """The program's frames inside the innermost `step`, each function once."""
    found: dict[tuple[str, str], Frame] = {}
    for frame in sample.frames[: max(_step_at(sample, steps), 0)]:
        if frame.of_program and not frame.short.startswith("<"):
            found.setdefault(frame.code, frame)
    return list(found.values())


def _loop_samples(analysis: Analysis) -> list[Sample]:
    return [s for s in samples_under(analysis) if "evaluate" not in s.phases]


RULES: tuple[Rule, ...] = (
    pandas_in_step,
    deepcopy_in_step,
    redundant_work,
)
