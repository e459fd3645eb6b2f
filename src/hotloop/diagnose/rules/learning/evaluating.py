"""Finds evaluations: the lines that call them, and evaluations written inline."""

from __future__ import annotations

import re

from hotloop.analyze.model import Analysis, Frame, Sample, seconds_of
from hotloop.analyze.sums import summed
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import Use, program_line, samples_under, use_by
from hotloop.diagnose.recorded import called_at, loop_key
from hotloop.diagnose.rules.environments.environment_samples import step_functions

#: Environments for evaluation are named so: `eval_env.step(…)`, `self.test_envs.reset()`.
_JUDGES = re.compile(
    r"(?:^|[._])(?:eval|evaluation|test|testing|validation|val)_?(?:v?envs?|environment)"
    r"\.(?:step|reset)$"
)

#: So are functions that evaluate: `test_agent`, `Trainer.validate`, `evaluate_policy`.
_JUDGING = re.compile(r"(?:^|[._])_*(?:eval|test|valid|assess|benchmark|score)", re.IGNORECASE)


def evaluated_by(analysis: Analysis) -> list[SourceLine]:
    """The lines that call for evaluations, the most time first.

    The innermost line of the program inside an evaluation is the network's or the environment's:
    what matters is the line that called it.
    """

    def calling(sample: Sample) -> SourceLine | None:
        frames = sample.frames
        judging = [i for i, frame in enumerate(frames) if _JUDGING.search(frame.function)]
        return program_line(frames[judging[-1] + 1 :]) if judging else None

    return use_by(samples_under(analysis, "evaluate"), calling).where()


def evaluated_inline(analysis: Analysis) -> Use:
    """Time in loops that step an environment made for evaluations."""
    samples = [s for s in samples_under(analysis) if "evaluate" not in s.phases]
    frames = {frame for sample in samples for frame in sample.own}
    loops = {loop_key(analysis, frame) for frame in frames if _judges(analysis, frame)} - {None}
    # A loop that also steps something else (an environment, an optimizer) is a training loop.
    loops -= {loop_key(analysis, frame) for frame in frames if _steps_else(analysis, frame)}
    # So is one in which something is learned or stored.
    loops -= {
        loop_key(analysis, frame)
        for sample in samples
        if any(name.startswith(("learn", "buffer.")) for name in sample.phases)
        for frame in sample.own
    }

    def inside(sample: Sample) -> Frame | None:
        return next((frame for frame in sample.own if loop_key(analysis, frame) in loops), None)

    return use_by(samples if loops else (), inside)


#: Phases that occur only in training.
_TRAINS = ("learn", "buffer.", "advantage")


def played_apart(analysis: Analysis) -> Use:
    """Time in a function that only plays, called by one that plays and learns itself.

    What it plays is no data for the learner, whatever it is called.
    """
    apart = {"evaluate", "search"}
    samples = [s for s in samples_under(analysis) if not apart & set(s.phases)]
    steps = step_functions(analysis)
    stacks = [(sample, _around_step(sample, steps)) for sample in samples]
    stepping = _stepping(stacks)
    acting = {each.code for sample, own in stacks if _is(sample, _ACTS) for each in own}
    training = _around_training(stacks)
    use = Use()
    for sample, own in stacks:
        driver = next((i for i, f in enumerate(own) if f.code in stepping & training), 0)
        inside = {frame.code for frame in own[:driver]}
        if inside & stepping & acting and not inside & training:
            asks = own[driver]
            if not sample.frames[sample.frames.index(asks) - 1].of_program:
                asks = own[driver - 1]  # a library calls it back: the line to edit is in there
            use.add(asks.source_line, sample.seconds)
    return use


_ACTS = {"policy.act", "inference"}
#: A function with less of the time of training below it was seen there by mistake: the phase of a
#: gap is predicted.
STRAY_TRAINING = 0.02
#: The same of steps.
STRAY_STEPS = 0.05


def _stepping(stacks: list[tuple[Sample, list[Frame]]]) -> set[tuple[str, str]]:
    """Functions that step an environment themselves."""
    stepped = summed(
        (own[0].code, sample.seconds) for sample, own in stacks if own and _is(sample, {"env.step"})
    )
    least = STRAY_STEPS * sum(stepped.values())
    return {key for key, seconds in stepped.items() if seconds >= least}


def _around_training(stacks: list[tuple[Sample, list[Frame]]]) -> set[tuple[str, str]]:
    """Functions with training below them."""
    training = [(sample, own) for sample, own in stacks if _trains(sample)]
    whole = seconds_of(sample for sample, _ in training)
    below = summed(
        (code, sample.seconds) for sample, own in training for code in {f.code for f in own}
    )
    return {key for key, seconds in below.items() if seconds >= STRAY_TRAINING * whole}


def _around_step(sample: Sample, steps: frozenset[str]) -> list[Frame]:
    """The program's frames of a stack from the inside out, without an environment's own."""
    own = sample.own
    inside = [i for i, f in enumerate(own) if f.function in steps or f.function.endswith(".step")]
    return own[inside[-1] + 1 :] if inside and _is(sample, {"env.step"}) else own


def _is(sample: Sample, names: set[str]) -> bool:
    return not names.isdisjoint(sample.phases)


def _trains(sample: Sample) -> bool:
    return any(name.startswith(_TRAINS) for name in sample.phases)


def _judges(analysis: Analysis, frame: Frame) -> bool:
    return any(_JUDGES.search(name) for name in called_at(analysis, frame).names)


def _steps_else(analysis: Analysis, frame: Frame) -> bool:
    called = called_at(analysis, frame).names
    return any(name.endswith(".step") and not _JUDGES.search(name) for name in called)
