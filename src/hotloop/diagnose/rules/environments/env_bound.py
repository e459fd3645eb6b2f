"""The simulator itself: the run waits for its environment, and no more specific cause is known."""

from __future__ import annotations

from collections.abc import Sequence

from hotloop import units
from hotloop.analyze.model import Analysis, Function, Sample, seconds_of
from hotloop.diagnose.evidence import cores, finding, inner_lines, of_loop, vector_size, workers
from hotloop.diagnose.finding import INFO, LOW, Finding, Rule
from hotloop.diagnose.recorded import at, called_at
from hotloop.diagnose.rules.environments.environment_samples import InsideSteps, inside_steps
from hotloop.diagnose.rules.environments.step_parts import step_parts
from hotloop.phases import names_of

#: A faster simulator is not a bottleneck that vectorizing removes: Python's own calls are.
HEAVY_STEP_S = 100e-6
#: With this share, a run counts as waiting for its environment (60% in public reports).
ENV_BOUND_SHARE = 0.60
#: From using two cores to compiling the inner loop.
ENV_BOUND_WINS = (0.3, 0.75)
#: Environments that use all cores already can only be simplified; by how much is unknown.
SIMPLER_WINS = (0.15, 0.75)
#: Waits of two to ten environments that overlap.
OVERLAP_WINS = (0.3, 0.9)
#: From this share of its time on, a step mostly waits.
MOSTLY = 0.5


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
    # A process that steps workers waits for their computing.
    waiting = 0.0 if workers(analysis) else _waiting_share(inside.samples)
    fix, saves = _simulate_faster(at_once, spread)
    before, after = "env = gym.make(name)", "env = gym.vector.AsyncVectorEnv([make] * cores)"
    lines = inner_lines(inside.samples)
    title = (
        f"The environment takes {of_loop(analysis, inside.seconds):.0%} of the loop: "
        f"{units.seconds(each)} per step"
    )
    if waiting >= MOSTLY:
        fix, saves = _wait_at_once(at_once), OVERLAP_WINS
        title += f", {waiting:.0%} of it waiting"
        pause = _pause(analysis, inside)
        if pause is not None:
            fix, lines = PAUSED, [pause.source_line]
            title = (
                f"Environment steps sleep{at(lines)}: "
                f"{of_loop(analysis, _asleep_s(pause)):.0%} of the loop, "
                f"{units.seconds(_asleep_s(pause) / steps)} per step"
            )
            before = "self.clock.tick(FPS)"
            after = "if self.watched:\n    self.clock.tick(FPS)"
    found = finding(
        analysis,
        "env-bound",
        title=title,
        phase="env.step",
        seconds=inside.seconds,
        saves=saves,
        confidence=LOW,
        # There is nothing wrong with a simulator that has all cores.
        severity=INFO if spread else None,
        where=lines,
        evidence={
            "step_s": each,
            "envs": vector_size(analysis),
            "cores": at_once,
            "parts": step_parts(inside).shares(),
        },
        fix=fix,
        before=before,
        after=after,
        learning="More parallel environments change the order of the data. If the return "
        "suffers, collect longer rollouts or lower the learning rate.",
    )
    if fix is PAUSED:
        found.learning = ""
    return [found]


PAUSED = (
    "This line pauses the program. A limit on the frame rate is for people who watch: leave it out "
    "of training. If the pause gives a simulator or a robot time to act, step the simulator in "
    "lockstep, or step several environments at once, in threads or processes: their pauses overlap."
)


def _pause(analysis: Analysis, inside: InsideSteps) -> Function | None:
    """The program's function that sleeps for most of a step, in one line.

    Not in a loop: that is one that looks again and again whether something has happened.
    """
    asleep = [
        each
        for each in analysis.functions
        if each.of_program and each.process == "main" and "env.step" in names_of(each.phase)
        and "evaluate" not in names_of(each.phase)
    ]  # fmt: skip
    longest = max(asleep, key=_asleep_s, default=None)
    if longest is None or _asleep_s(longest) < MOSTLY * inside.seconds:
        return None
    place = longest.source_line
    there = seconds_of(s for s in inside.samples if s.waiting and s.line == place) * inside.scale
    if there < MOSTLY * _asleep_s(longest):
        return None  # the line that takes most of its time is another one
    return None if called_at(analysis, place).loop_line else longest


def _asleep_s(function: Function) -> float:
    return function.self_s * function.sleeping_share


def _waiting_share(samples: Sequence[Sample]) -> float:
    """The share of these samples that sleep or wait for another thread or process."""
    whole = seconds_of(samples)
    return seconds_of(s for s in samples if s.waiting) / whole if whole else 0.0


def _simulate_faster(at_once: int, spread: bool) -> tuple[str, tuple[float, float]]:
    who = (
        f"Its processes already keep all {at_once} cores busy: write"
        if spread
        else f"Step several environments in separate processes (there are {at_once} cores), write"
    )
    fix = (
        f"The simulator itself takes the time. {who} its inner loop with NumPy or a compiler, "
        "or simulate less exactly. For well-known environments, EnvPool and similar libraries "
        "have fast versions."
    )
    return fix, SIMPLER_WINS if spread else ENV_BOUND_WINS


def _wait_at_once(at_once: int) -> str:
    return (
        "Most of a step is spent sleeping or waiting for I/O or another process, so faster "
        "code does not help. Step several environments at once, in processes or threads, so "
        f"that their waits overlap; having more of them than the {at_once} cores pays off. Or "
        "make the wait itself shorter: run the simulator faster than real time, use a closer "
        "server, send larger requests."
    )


RULES: tuple[Rule, ...] = (env_bound,)
