"""The hottest line of the program's own code, for time that no rule explains."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Analysis, Sample
from hotloop.analyze.sums import summed
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import DRIVES, of_loop, samples_under
from hotloop.diagnose.recorded import called_at

#: The path is followed as long as one line has this part of the time below the previous line.
HOLDS = 0.5
#: A line below this share of the loop is not named: the table of functions lists them.
WORTH_NAMING = 0.05
#: Calls of a line that a sentence names.
MOST_CALLS = 2


@dataclass(frozen=True)
class HotLine:
    """A line of the program, with everything that it calls."""

    line: SourceLine
    share: float
    #: Functions that the line calls, by the names used there.
    calls: tuple[str, ...]

    def __str__(self) -> str:
        file = self.line.file.replace("\\", "/").rpartition("/")[2]
        calls = f" (calls {', '.join(f'`{name}`' for name in self.calls)})" if self.calls else ""
        inside = "" if self.line.function == "<module>" else f" in `{self.line.function}`"
        return f"{file}:{self.line.line}{inside}{calls}"


def hottest_line(analysis: Analysis, phase: str | None = None) -> HotLine | None:
    """The innermost line with most of what is below its callers: in a phase, in no phase (`""`), or
    anywhere.
    """
    samples = [s for s in samples_under(analysis) if phase is None or _ends_in(s, phase)]
    stacks = [(_lines_of(s), s.seconds) for s in samples]
    total = sum(seconds for lines, seconds in stacks if lines)
    found: SourceLine | None = None
    depth, held = 0, total
    while stacks and held > 0:
        at = summed((lines[depth], seconds) for lines, seconds in stacks if len(lines) > depth)
        largest = max(at, key=lambda line: at[line], default=None)
        # A line that contains all of the time says nothing, whatever it calls.
        drives = held >= DRIVES * total
        if largest is None or (found and not drives and at[largest] < HOLDS * held):
            break
        found, held = largest, at[largest]
        stacks = [each for each in stacks if len(each[0]) > depth and each[0][depth] == largest]
        depth += 1
    share = of_loop(analysis, held)
    if found is None or share < WORTH_NAMING:
        return None
    return HotLine(found, share, tuple(sorted(called_at(analysis, found).names)[:MOST_CALLS]))


def _ends_in(sample: Sample, phase: str) -> bool:
    return sample.phase == phase


def _lines_of(sample: Sample) -> list[SourceLine]:
    """The program's lines of a stack, from the outside in."""
    own = sample.own
    return [frame.source_line for frame in reversed(own)]
