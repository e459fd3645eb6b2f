"""The verdict: the summary, what it rests on, and what was not explained.

A verdict never claims more than was checked. Rules can only say "No known cause matched"; a run is
called healthy only if little is left that any change could remove.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hotloop import units
from hotloop.analyze.kind import (
    has_training_loop,
    is_reinforcement_learning,
    is_warm_up,
    learning_starts,
    learns,
    phases_there_are,
    span_of,
)
from hotloop.analyze.model import Analysis
from hotloop.analyze.processes.awaited_threads import THREAD
from hotloop.analyze.processes.contention import cores_used
from hotloop.analyze.processes.run_table import BETWEEN, SLOWEST, WAITING, WAITS
from hotloop.diagnose.busy_machine import BUSY_MACHINE, cpu_wait_share, keeps_cores_busy
from hotloop.diagnose.evidence import calls_of
from hotloop.diagnose.finding import HEALTHY, INFO, Finding
from hotloop.diagnose.hot_lines import hottest_line
from hotloop.diagnose.unnamed_time import unnamed_time
from hotloop.phases import PARENTS, is_of_thread, names_of

#: With fewer environment steps a share may be that of the first, slow calls.
ENOUGH_STEPS = 200
#: A loop that steps slowly has been observed long enough after this time (500 samples at the
#: sampler's 100 per second), however few steps it made.
ENOUGH_SECONDS = 5.0
#: A shorter loop cannot be judged, however fast the environment steps: a window is a second.
LEAST_SECONDS = 0.5
#: Calls of a network without gradients, for each gradient step, from which on it does more than
#: compute targets: it plays, searches or generates.
MANY_CALLS = 2.0
#: A device that computes this share of the loop is all but fully used: the host holds up little.
DEVICE_FULL = 0.9

#: A phase below this share says nothing about where the time of an unknown program goes.
WORTH_NAMING = 0.05
#: A cost that is only mentioned, because it is a choice or a default, may still be this large.
WORTH_A_TRY = 0.1

#: A process that lasted for this part of the loop decides how long the loop takes.
TAKES_PART = 0.5
#: Above this share of waiting for a core, what is left to compare with is noise.
STARVED = 0.9

QUIET, BUSY, UNKNOWN = "quiet", "busy", "unknown"
#: The name of time in no phase in a verdict.
NOTHING_KNOWN = ""


@dataclass(frozen=True)
class Verdict:
    """The report in a few sentences, and what they rest on."""

    headline: str
    #: Who waited for a CPU core, and what that does to every figure; empty on a quiet machine.
    starvation: str = ""
    #: The basis of the headline and its limits, one sentence each.
    details: list[str] = field(default_factory=list)
    #: Share of the loop that no finding explains.
    unexplained_by_rules: float = 0.0
    #: The phase with the largest part of that, and its share; no name for time in no phase.
    largest_without_rule: str | None = None
    largest_without_rule_share: float = 0.0
    #: "quiet", "busy" (the main thread waited for a CPU core) or "unknown".
    machine: str = UNKNOWN
    #: Share of the loop in which the main thread waited for a CPU core.
    cpu_wait_share: float | None = None
    enough_data: bool = False
    samples: int = 0
    iterations: int = 0
    learning_began: bool = False
    healthy: bool = False

    @property
    def sentence(self) -> str:
        """Everything, as one text."""
        return " ".join(filter(None, [self.starvation, self.headline, *self.details]))


def too_short(analysis: Analysis) -> str:
    """Why this capture is too short to judge; empty if it is not."""
    run = analysis.run
    if not has_training_loop(analysis):
        return ""  # recording for longer would not help
    if run.loop_s >= ENOUGH_SECONDS or not run.loop_s:
        return ""
    if run.env_steps and run.env_steps < ENOUGH_STEPS:
        return f"{run.env_steps} steps; findings need about {ENOUGH_STEPS}"
    if run.loop_s < LEAST_SECONDS:
        return (
            f"{units.seconds(run.loop_s)} of training; findings need about {ENOUGH_SECONDS:.0f} s"
        )
    return ""


def judge(analysis: Analysis, findings: list[Finding]) -> Verdict:
    """The verdict on an analysis and its findings."""
    left = without_rule(analysis, findings)
    largest = max(left, key=lambda name: left[name], default=None)
    waited = cpu_wait_share(analysis)
    enough = bool(analysis.run.loop_s) and not too_short(analysis)
    healthy = enough and _little_is_left(analysis, findings)
    return Verdict(
        headline=_headline(analysis, findings, left, healthy),
        starvation=starvation(analysis),
        details=_details(analysis, findings),
        unexplained_by_rules=min(sum(left.values()), 1.0),
        largest_without_rule=largest,
        largest_without_rule_share=left[largest] if largest is not None else 0.0,
        machine=UNKNOWN if waited is None else BUSY if waited > BUSY_MACHINE else QUIET,
        cpu_wait_share=waited,
        enough_data=enough and iterations(analysis) > 1,
        samples=samples(analysis),
        iterations=iterations(analysis),
        learning_began=learns(analysis),
        healthy=healthy,
    )


def without_rule(analysis: Analysis, findings: list[Finding]) -> dict[str, float]:
    """Phase -> share of the loop in its own time that no finding explains.

    A finding explains at most what its fix could remove, in the phases that it is about.
    """
    loop_s = analysis.run.steady_s
    if loop_s <= 0:
        return {}
    phases = analysis.training_phases
    known_s = sum(max(p.loop_self_s, 0.0) for p in phases)
    left = {NOTHING_KNOWN: max((analysis.run.loop_s - known_s) / loop_s, 0.0)}
    inside: dict[str, set[str]] = {}
    for phase in phases:
        left[phase.name] = left.get(phase.name, 0.0) + max(phase.loop_self_s, 0.0) / loop_s
        for name in names_of(phase.path):
            inside.setdefault(name, set()).add(phase.name)
    for once in analysis.once:  # a longer run pays for it once, too
        for name, seconds in once.own_times():
            left[name] = max(left.get(name, 0.0) - seconds / loop_s, 0.0)
    for finding in findings:
        # A ceiling may count that the rest gets faster, too; the finding is not about that.
        removed = 1 - 1 / max(finding.ceiling or 1.0, 1.0)
        explained = min(removed, float(finding.evidence.get("share_of_loop") or removed))
        about = inside.get(finding.phase, set())
        # Time that a finding's own phase does not cover is taken from the largest phases.
        for name in sorted(left, key=lambda name: (name not in about, -left[name])):
            part = min(left[name], explained)
            left[name] -= part
            explained -= part
    return {name: share for name, share in left.items() if share > 0}


def starvation(analysis: Analysis) -> str:
    """Who waited for a CPU core, because of whom, and what that means; empty on a quiet machine.

    Every report shows it first: all times depend on it.
    """
    waited = cpu_wait_share(analysis) or 0.0
    trainer = analysis.notes.trains_in
    who = f"`{trainer}`" if trainer else "The main thread"
    lasted = {process.name: process.wall_s for process in analysis.processes}
    for name, bound in analysis.process_bounds.items():
        takes_part = lasted.get(name, 0.0) >= TAKES_PART * analysis.run.loop_s
        if takes_part and bound.cores > max(waited, BUSY_MACHINE):
            waited, who = bound.cores, f"`{name}`"
    return _starved(analysis, who, waited)


def starvation_of(analysis: Analysis, process: str) -> str:
    """The same for one process other than the main one."""
    bound = analysis.process_bounds.get(process)
    return _starved(analysis, f"`{process}`", bound.cores if bound is not None else 0.0)


def _starved(analysis: Analysis, who: str, waited: float) -> str:
    if waited <= BUSY_MACHINE:
        return ""
    times = f"up to {1 / (1 - waited):.1f} times" if waited < STARVED else "many times"
    longer = f"times here are {times} longer than on a quiet machine"
    return (
        f"{who} waited for a CPU core {waited:.0%} of the time{_who_took_the_cores(analysis)}: "
        f"{longer}. Compare runs only on a quiet machine."
    )


def _who_took_the_cores(analysis: Analysis) -> str:
    own, cores = cores_used(analysis), analysis.notes.machine.cores
    if own is None or not cores:
        return ""
    if keeps_cores_busy(analysis):
        return f" (this run's own threads and processes keep {own:.1f} of {cores:g} cores busy)"
    return f" (other programs took about {cores - own:.1f} of {cores:g} cores)"


def samples(analysis: Analysis) -> int:
    """Samples of the main process in the loop."""
    return sum(
        count
        for window in analysis.loop_windows
        for (path, _, _), (count, _) in window.samples.items()
        if not is_of_thread(path)
    )


def iterations(analysis: Analysis) -> int:
    """The number of iterations: updates, rollouts or steps."""
    run = analysis.run
    steps = max(calls_of(analysis, "env.step"), run.env_steps, run.gradient_steps)
    return calls_of(analysis, *PARENTS) or steps


def _little_is_left(analysis: Analysis, findings: list[Finding]) -> bool:
    """Whether the ceiling of every change to the host's code is known to be small."""
    if any(finding.is_problem for finding in findings):
        return False
    device = analysis.device
    return device is not None and (device.kernel_share or 0.0) >= DEVICE_FULL


def _headline(
    analysis: Analysis, findings: list[Finding], left: dict[str, float], healthy: bool
) -> str:
    if not analysis.run.loop_s:
        return "Nothing was measured: the program ended before its first window closed."
    if is_warm_up(analysis):
        return _warm_up(analysis)
    problems = [finding for finding in findings if finding.is_problem]
    if problems:
        return f"{problems[0].title.rstrip('.')}."
    short = too_short(analysis)
    if short:
        return f"Too short to judge: {short}."
    if not is_reinforcement_learning(analysis):
        return _no_rl_loop(analysis)
    notes = [finding for finding in findings if finding.severity == INFO]
    if healthy:
        share = (analysis.device.kernel_share or 0.0) if analysis.device else 0.0
        return f"Healthy: no known cause matched, and the device computes {share:.0%} of the time."
    if notes:
        cost = 1 - 1 / max(notes[0].ceiling or 1.0, 1.0)
        size = f"at most {cost:.0%}" if cost >= 0.01 else "less than 1%"
        worth = "fixing" if cost < WORTH_A_TRY else "a warning"
        matched = f"No cause worth {worth} matched (the largest, {notes[0].id}, is {size} of it)"
    else:
        matched = "No known cause matched"
    largest = _awaited(analysis, left) or _largest(analysis, left)
    return f"{matched}; {largest}."


def _warm_up(analysis: Analysis) -> str:
    """The verdict on a run that ended before learning began."""
    starts = learning_starts(analysis)
    where = f" (learning starts at {starts:,} steps)" if starts else ""
    reach = f"--stop-after {2 * starts}steps" if starts else "a longer --stop-after"
    return (
        f"No gradient step yet: the run ended during warm-up{where}, so acting and learning "
        f"are not judged; {reach} gets past it."
    )


def _no_rl_loop(analysis: Analysis) -> str:
    """The verdict on a program without anything that belongs to reinforcement learning."""
    calls, updates = calls_of(analysis, "inference"), analysis.run.gradient_steps
    plays = bool(updates) and calls >= MANY_CALLS * updates
    if updates:
        what = f"this is a loop of {updates:,} gradient steps"
    elif analysis.run.generations:
        what = f"this is an evolution strategy of {analysis.run.generations:,} generations"
    else:
        what = "hotloop found no environment step and no gradient step"
    named = [(name, share) for name, share in phases_there_are(analysis) if share >= WORTH_NAMING]
    largest = ", ".join(f"`{name}` {share:.0%}" for name, share in named)
    phases = f" Largest phases: {largest}." if largest else ""
    line = hottest_line(analysis)
    if awaited := _awaited(analysis, dict(named)):
        phases, hottest = "", f" {awaited}."
    elif line:
        hottest = f" The hottest line is {line}, {line.share:.0%} of the {span_of(analysis)}."
    else:
        hottest = ""
    if plays:
        return (
            f"No environment step recognized: {what} that calls networks without gradients "
            f"{units.rate(calls / updates)} times for each, as rollouts, tree searches and "
            f"text generation do.{phases}{hottest} Use --phase env.step=MODULE:CLASS.METHOD to "
            "name the code that steps the environment, and --phase search=… or generate=… for "
            "code that searches or generates."
        )
    return (
        f"No RL loop recognized: {what}.{phases}{hottest} "
        "Name parts of the program with --phase NAME=FUNCTION."
    )


#: Rows in which the awaited processes do not work.
_NO_WORK = (SLOWEST, BETWEEN, WAITING)
#: Parts of a wait that a verdict names.
_MOST_AWAITED = 3


def _awaited(analysis: Analysis, left: dict[str, float]) -> str:
    """Where the time spent waiting for others goes, if that is the largest part of the loop."""
    name = max(left, key=lambda name: left[name], default=NOTHING_KNOWN)
    rows = [row for row in analysis.run_table if row.process != "main" and row.kind not in _NO_WORK]
    rows.sort(key=lambda row: -row.share)
    if name not in WAITS or not rows:
        return ""
    whom = "threads" if all(row.process == THREAD for row in rows) else "processes"
    parts = [
        f"{row.share:.0%} for `{row.inside or row.name}` of {row.process}"
        f"{f' x{row.processes}' if row.processes > 1 else ''}"
        f"{f' ({Path(row.file).name}:{row.line})' if row.file else ''}"
        for row in rows[:_MOST_AWAITED]
        if row.share >= WORTH_NAMING
    ]
    if not parts:
        return ""
    return (
        f"{left[name]:.0%} of the {span_of(analysis)} is spent waiting for other {whom}: "
        f"{', '.join(parts)}"
    )


def _largest(analysis: Analysis, left: dict[str, float]) -> str:
    if not left:
        return "every phase is explained"
    of, name = span_of(analysis), max(left, key=lambda name: left[name])
    where = "in no phase" if name == NOTHING_KNOWN else f"`{name}`, which no rule explains"
    line = hottest_line(analysis, name)
    hottest = f"; its hottest line is {line}, {line.share:.0%} of the {of}" if line else ""
    return f"{left[name]:.0%} of the {of} is {where}{hottest}"


def _details(analysis: Analysis, findings: list[Finding]) -> list[str]:
    if not analysis.run.loop_s:
        return []
    lines = [f"{each.title.rstrip('.')}." for each in findings if each.severity == HEALTHY]
    if any(each.is_problem for each in findings) and not is_reinforcement_learning(analysis):
        lines.append(_no_rl_loop(analysis))
    if unnamed := unnamed_time(analysis, findings):
        lines.append(unnamed)
    if iterations(analysis) == 1:
        lines.append("Only one iteration was recorded; a second one may look different.")
    if not_sampled := _not_sampled(analysis):
        lines.append(not_sampled)
    return [*lines, *_basis(analysis)]


#: Ways to measure functions that take no stack samples, on which many rules are based.
_WITHOUT_SAMPLES = ("exact", "off")


def _not_sampled(analysis: Analysis) -> str:
    functions = analysis.run.header.functions
    if functions not in _WITHOUT_SAMPLES:
        return ""
    return (
        f"With --functions {functions} there are no stack samples: causes that only they show "
        "were not looked for."
    )


def _basis(analysis: Analysis) -> list[str]:
    run = analysis.run
    counts = (
        (run.env_steps, "environment step"),
        (int(run.gradient_steps), "gradient step"),
        (samples(analysis), "stack sample"),
    )
    parts = [f"{n:,} {what}{'' if n == 1 else 's'}" for n, what in counts if n]
    if not parts:
        return []
    listed = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    return [f"Based on {listed} over {units.seconds(run.loop_s)}."]
