"""Where evaluations are: the lines that call them, and evaluations written inline."""

from __future__ import annotations

import re

from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import Use, lines_by_time, program_line, samples_under
from hotloop.diagnose.recorded import called_at
from hotloop.phases import names_of

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

    return lines_by_time(samples_under(analysis, "evaluate"), calling)


def evaluated_inline(analysis: Analysis) -> Use:
    """Time in loops that step an environment made for evaluations."""
    samples = [s for s in samples_under(analysis) if "evaluate" not in names_of(s.path)]
    frames = {frame for sample in samples for frame in sample.frames if frame.of_program}
    loops = {_loop(analysis, frame) for frame in frames if _judges(analysis, frame)} - {None}
    # A loop that also steps something else (an environment, an optimizer) is a training loop.
    loops -= {_loop(analysis, frame) for frame in frames if _steps_else(analysis, frame)}
    # So is one in which something is learned or stored.
    loops -= {
        _loop(analysis, frame)
        for sample in samples
        if any(name.startswith(("learn", "buffer.")) for name in names_of(sample.path))
        for frame in sample.frames
        if frame.of_program
    }
    use = Use()
    for sample in samples if loops else ():
        for frame in sample.frames:
            if frame.of_program and _loop(analysis, frame) in loops:
                line = SourceLine(frame.file, frame.line, frame.function)
                use.seconds += sample.seconds
                use.lines[line] = use.lines.get(line, 0.0) + sample.seconds
                break
    return use


def _judges(analysis: Analysis, frame: Frame) -> bool:
    return any(_JUDGES.search(name) for name in called_at(analysis, frame)[0])


def _steps_else(analysis: Analysis, frame: Frame) -> bool:
    called = called_at(analysis, frame)[0]
    return any(name.endswith(".step") and not _JUDGES.search(name) for name in called)


def _loop(analysis: Analysis, frame: Frame) -> tuple[str, int] | None:
    """The innermost `for` around a line."""
    line = called_at(analysis, frame)[1]
    return (frame.file, line) if line else None
