"""Causes inside an environment's step: slow libraries, repeated work, the simulator itself."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from hotloop import units
from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    Use,
    cores,
    finding,
    in_package,
    inner_lines,
    of_loop,
    program_line,
    samples_under,
    use_of,
    vector_size,
    workers,
)
from hotloop.diagnose.finding import HIGH, LOW, MEDIUM, Finding, Rule
from hotloop.diagnose.inside import (
    SMALLEST_PART,
    InsideSteps,
    by_name,
    inside_steps,
    part_of,
    step_functions,
)
from hotloop.diagnose.loading import functions_that_read, reads_files
from hotloop.diagnose.recorded import at, copies_by_dumping, writes_table
from hotloop.diagnose.step_parts import step_parts
from hotloop.phases import names_of

#: A faster simulator is not a bottleneck that vectorizing removes: Python's own calls are.
HEAVY_STEP_S = 100e-6
#: The share that makes a run one that waits for its environment (60% in public reports).
ENV_BOUND_SHARE = 0.60


# -- libraries that are slow to call for one row --

#: A cell through pandas takes 10 to 100 microseconds, from an array 0.1: a published case
#: saved 98% of a step, and what replaces it is not free.
PANDAS_WINS = (0.85, 0.985)


#: Where pandas does what it is for.
_NOT_STEPPING = frozenset({"data", "log", "checkpoint", "import", "env.step", "env.reset"})


def pandas_in_step(analysis: Analysis) -> list[Finding]:
    """pandas is used in every step."""
    inside = inside_steps(analysis)
    use = inside.use(in_package("pandas"))
    phase = "env.step"
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        # Outside of the environment: a table of values, features made for each action.
        phase = "collect"
        apart = [s for s in _loop_samples(analysis) if not _NOT_STEPPING & set(names_of(s.path))]
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
            title=f"pandas is used in every {'environment ' * (phase == 'env.step')}step{by}: "
            f"{of_loop(analysis, use.seconds):.0%} of the loop",
            phase=phase,
            seconds=use.seconds,
            low=PANDAS_WINS[0],
            high=PANDAS_WINS[1],
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


#: The copying gets 2 to 10 times faster; the shallow copy remains.
DEEPCOPY_WINS = (0.75, 0.98)
#: Where a library copies what an environment hands out (its infos), the program can only hand out
#: less.
HANDED_OUT_WINS = (0.4, 0.9)
HANDED_OUT_SHARE = 0.10


def deepcopy_in_step(analysis: Analysis) -> list[Finding]:
    """State or infos are deep-copied in every step."""
    inside = inside_steps(analysis)
    within = _copying(analysis, inside)
    # What the loop stores or hands on is copied outside of the environment; both go away.
    apart = [s for s in _loop_samples(analysis) if not _in_environment(s)]
    outside = InsideSteps(apart, inside.seconds, 1.0)
    use = _added(within, _copying(analysis, outside))
    phase = "env.step" if 2 * within.seconds >= use.seconds else "collect"
    if of_loop(analysis, use.seconds) < SMALLEST_PART:
        return []
    # An evaluation steps the same environments: its copies go away with the same change.
    evaluated = InsideSteps(_evaluating(analysis), inside.seconds, 1.0)
    use = _added(use, _copying(analysis, evaluated))
    share = of_loop(analysis, use.seconds)
    scaled = sum(
        sample.seconds * part.scale
        for part in (inside, outside, evaluated)
        for sample in part.samples
        if _copies_itself(sample) or copies_by_dumping(analysis, sample)
    )
    handed_out = scaled < 0.5 * use.seconds
    if handed_out and share < HANDED_OUT_SHARE:
        return []  # what a library does in any case
    low, high = HANDED_OUT_WINS if handed_out else DEEPCOPY_WINS
    found = finding(
        analysis,
        "deepcopy-in-step",
        title=f"{_what_copies(analysis)} makes deep copies{at(use.where())}: "
        f"{share:.0%} of the loop",
        phase=phase,
        seconds=use.seconds,
        low=low,
        high=high,
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


def _what_copies(analysis: Analysis) -> str:
    """A search without an environment has simulations, and no steps."""
    if analysis.run.env_steps:
        return "Every step"
    return "Every simulation" if analysis.run.searches else "The program"


def _evaluating(analysis: Analysis) -> list[Sample]:
    return [s for s in samples_under(analysis, "evaluate") if "env.step" in names_of(s.path)]


def _of_a_library(found: Finding, share: float) -> Finding:
    return replace(
        found,
        title="A library deep-copies what the environment returns in every step: "
        f"{share:.0%} of the loop",
        fix="A deep copy visits every object in Python. Return small infos: a few plain "
        "numbers, and only if something reads them.",
        before="return obs, reward, done, False, self.everything()",
        after='return obs, reward, done, False, {"score": self.score} if done else {}',
    )


def _added(first: Use, second: Use) -> Use:
    """Two uses of different samples as one."""
    total = Use(first.seconds + second.seconds, dict(first.lines), dict(first.functions))
    for line, seconds in second.lines.items():
        total.lines[line] = total.lines.get(line, 0.0) + seconds
    for key, seconds in second.functions.items():
        total.functions[key] = total.functions.get(key, 0.0) + seconds
    return total


def _in_environment(sample: Sample) -> bool:
    return "env.step" in names_of(sample.path)


def _copying(analysis: Analysis, inside: InsideSteps) -> Use:
    """Deep copies, by `copy.deepcopy` or by way of `dumps` and `loads`."""
    use = inside.use(_is_deepcopy)
    for sample in inside.samples:
        if any(_is_deepcopy(frame) for frame in sample.frames):
            continue  # it counts already
        line = program_line(sample.frames)
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
#: Helpers with these words in their names are the simulation itself, not work beside it.
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
    # A reset that a vector makes inside of a step is a cause of its own.
    stepping = [s for s in inside.samples if "env.reset" not in names_of(s.path)]
    helper, seconds, lines = _helper(replace(inside, samples=stepping), step_functions(analysis))
    if helper is None or seconds < HELPER_SHARE * inside.seconds:
        return []
    if of_loop(analysis, seconds) < SMALLEST_PART or _SIMULATES.search(helper.function):
        return []
    if _waits(analysis, inside, helper) or _works_s(analysis, inside, helper) < HELPER_S:
        return []
    name = helper.function.rpartition(".")[2]
    return [
        finding(
            analysis,
            "redundant-work-in-step",
            title=f"{name} is {part_of(seconds, inside.seconds):.0%} of every environment step and "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="env.step",
            seconds=seconds,
            low=REDUNDANT_WINS[0],
            high=REDUNDANT_WINS[1],
            confidence=MEDIUM,
            where=lines,
            evidence={
                "function": helper.function,
                "share_of_env_step": part_of(seconds, inside.seconds),
            },
            fix=f"Every step recomputes `{name}`. What depends only on the data (rolling "
            "statistics, features) can be computed once for all times; what changes little from "
            "step to step (distances, reachable cells) can be kept and updated, or vectorized.",
            before=f"obs = self.{name}(self.t)           # in step",
            after=f"self.table = {name}_for_all_times()  # once, in __init__\n"
            "obs = self.table[self.t]",
        )
    ]


#: A helper that waits in this share of its samples, while the rest of the program waits less,
#: waits for something (a service, a file). On a crowded machine everything waits, for a core.
WAITS = 0.8
WORKS = 0.5


def _waits(analysis: Analysis, inside: InsideSteps, helper: Frame) -> bool:
    own = [s for s in inside.samples if any(f.function == helper.function for f in s.frames)]
    rest = [s for s in samples_under(analysis) if not {"env.step", "wait"} & set(names_of(s.path))]
    return _waiting_part(own) >= WAITS and _waiting_part(rest) <= WORKS


def _works_s(analysis: Analysis, inside: InsideSteps, helper: Frame) -> float:
    """Seconds in a helper for each environment step, less what all of the program waits."""
    own = [s for s in inside.samples if any(f.function == helper.function for f in s.frames)]
    works = 1 - min(_waiting_part(samples_under(analysis)), 0.9)
    steps = analysis.run.env_steps
    return sum(s.seconds for s in own) * inside.scale * works / steps if steps else 0.0


def _waiting_part(samples: list[Sample]) -> float:
    whole = sum(sample.seconds for sample in samples)
    return part_of(sum(sample.seconds for sample in samples if sample.waiting), whole)


#: A function inside the largest one that takes this part of its time is what makes it large.
NEARLY_ALL = 0.8


def _helper(
    inside: InsideSteps, steps: frozenset[str]
) -> tuple[Frame | None, float, list[SourceLine]]:
    """The program's function below the step itself with the most time, and its hot lines."""
    totals: dict[tuple[str, str], float] = {}
    lines: dict[tuple[str, str], dict[int, float]] = {}
    frames: dict[tuple[str, str], Frame] = {}
    called: dict[tuple[str, str], dict[SourceLine, float]] = {}
    for sample in inside.samples:
        below = _below_step(sample, steps)
        caller = _caller(sample, below)
        if caller is not None:
            entered = called.setdefault((below[-1].file, below[-1].function), {})
            entered[caller] = entered.get(caller, 0.0) + sample.seconds
        for frame in below:
            key = (frame.file, frame.function)
            totals[key] = totals.get(key, 0.0) + sample.seconds * inside.scale
            frames[key] = frame
            table = lines.setdefault(key, {})
            # The first line is where a sample is put whose line is not known.
            seconds = sample.seconds if frame.line != frame.first_line else 0.0
            table[frame.line] = table.get(frame.line, 0.0) + seconds
    if not totals:
        return None, 0.0, []
    most = max(totals.values())
    large = [key for key in totals if totals[key] >= NEARLY_ALL * most]
    named = [key for key in large if not _SIMULATES.search(key[1])]
    key = max(named or large, key=lambda k: totals[k])
    # The innermost of those that hold nearly all of it says best where.
    inner = min(named or large, key=lambda k: totals[k])
    places = [
        SourceLine(each[0], _most(lines[each]), each[1]) for each in dict.fromkeys([inner, key])
    ]
    # What calls it in `step` is the line that a table or a kept result replaces.
    calls = called.get(key)
    return frames[key], totals[key], [*places, *([_most(calls)] if calls else [])]


_Line = TypeVar("_Line", int, SourceLine)


def _most(lines: dict[_Line, float]) -> _Line:
    return max(lines, key=lambda line: lines[line])


def _caller(sample: Sample, below: list[Frame]) -> SourceLine | None:
    """The line of `step` itself that called the outermost of the functions below it."""
    own = [frame for frame in sample.frames if frame.of_program]
    at = own.index(below[-1]) + 1 if below and below[-1] in own else 0
    if not at or at >= len(own):
        return None
    return SourceLine(own[at].file, own[at].line, own[at].function)


_STEPS = frozenset({"step", "step_wait", "step_async", "_step", "env_step"})


def _below_step(sample: Sample, steps: frozenset[str]) -> list[Frame]:
    """The program's frames inside the innermost `step`, each function once."""
    found: dict[tuple[str, str], Frame] = {}
    for frame in sample.frames:  # from the inside out
        name = frame.function.rpartition(".")[2]
        if name in _STEPS or frame.function in steps:
            return list(found.values())
        if frame.of_program and not name.startswith("<"):
            found.setdefault((frame.file, frame.function), frame)
    return []


# -- the simulator itself --

#: From two cores' worth to an inner loop that is compiled.
ENV_BOUND_WINS = (0.3, 0.75)
#: Environments that use all cores already can only be simplified; by how much is unknown.
SIMPLER_WINS = (0.15, 0.75)


def env_bound(analysis: Analysis) -> list[Finding]:
    """The run waits for its environment, and no more specific cause is known."""
    inside = inside_steps(analysis)
    steps = analysis.run.env_steps
    if not steps or of_loop(analysis, inside.seconds) < ENV_BOUND_SHARE:
        return []
    each = inside.seconds / steps
    if each < HEAVY_STEP_S:
        return []
    at_once = cores(analysis) or 1
    spread = len(workers(analysis)) >= max(at_once, 2)
    return [
        finding(
            analysis,
            "env-bound",
            title=f"The environment is {of_loop(analysis, inside.seconds):.0%} of the loop: "
            f"{units.seconds(each)} per step",
            phase="env.step",
            seconds=inside.seconds,
            low=(SIMPLER_WINS if spread else ENV_BOUND_WINS)[0],
            high=(SIMPLER_WINS if spread else ENV_BOUND_WINS)[1],
            confidence=LOW,
            where=inner_lines(inside.samples),
            evidence={
                "step_s": each,
                "envs": vector_size(analysis),
                "cores": at_once,
                "parts": step_parts(inside).shares(),
            },
            fix="The simulator itself takes the time. "
            + (
                f"Its processes keep all {at_once} cores busy already: write"
                if spread
                else "Step several environments in separate processes (there are "
                f"{at_once} cores), write"
            )
            + " its inner loop with NumPy or a compiler, or simulate less exactly; EnvPool and "
            "similar libraries do this for known ones.",
            before="env = gym.make(name)",
            after="env = gym.vector.AsyncVectorEnv([make] * cores)",
            learning="More environments at once change the order of the data: raise the rollout "
            "or lower the learning rate only if the return suffers.",
        )
    ]


def _loop_samples(analysis: Analysis) -> list[Sample]:
    return [s for s in samples_under(analysis) if "evaluate" not in names_of(s.path)]


RULES: tuple[Rule, ...] = (
    pandas_in_step,
    deepcopy_in_step,
    redundant_work,
    env_bound,
)
